#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "checkpoint/model_config.h"
#include "model/deepseek_v3.h"
#include "model/step.h"

namespace stoker::cli {

/// Time and bytes of a part of a step.
struct PartCost {
  double seconds = 0.0;
  std::uint64_t bytes = 0;
};

/// What a step spends on each kind of its parts.
struct StepCosts {
  PartCost dense_layer;  ///< one dense layer
  PartCost moe_layer;    ///< one MoE layer
  PartCost outside;      ///< embedding, final norm, head
};

/// How many dense and MoE layers there are.
struct LayerCounts {
  std::size_t dense = 0;
  std::size_t moe = 0;
};

/// The layers of the whole model that `config` holds only some layers of: those of Kimi K2 (61)
/// where all its sizes are K2's but the number of layers is smaller. Nothing for any other. Pure.
std::optional<LayerCounts> WholeModelOf(const checkpoint::ModelConfig& config);

/// What a step of a whole model costs, from the cost of its parts. A layer kind that was not
/// measured must not occur in `layers`. Pure.
PartCost WholeModelStep(const StepCosts& costs, const LayerCounts& layers);

/// Times the parts of the steps that it watches.
class StepClock final : public model::LayerObserver {
 public:
  explicit StepClock(const model::DeepseekV3& model) : model_(&model) {}

  /// Around each step.
  void Begin();
  void End();

  /// Medians over the steps so far. There must have been one.
  [[nodiscard]] StepCosts Costs() const;

  void OnEmbedded() override;
  void OnLayerDone(LayerId layer) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// What was spent since the last call.
  PartCost Lap();

  const model::DeepseekV3* model_;
  Clock::time_point last_time_;
  std::uint64_t last_bytes_ = 0;
  PartCost outside_;  // of the running step
  std::vector<PartCost> dense_layers_;
  std::vector<PartCost> moe_layers_;
  std::vector<PartCost> outsides_;
};

}  // namespace stoker::cli
