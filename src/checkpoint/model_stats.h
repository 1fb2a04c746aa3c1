#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "checkpoint/model_config.h"
#include "checkpoint/model_tensors.h"

namespace stoker::checkpoint {

/// Sizes of one class of weights, or of all of them.
struct WeightStats {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;  ///< values and scales as stored
  /// What decoding one token multiplies with: one row of the embedding, top-k experts of each MoE
  /// layer, all of the rest.
  std::uint64_t active_parameters = 0;
  std::uint64_t active_bytes = 0;  ///< read from memory a decoded token, at batch 1
};

/// What a model weighs, from its configuration alone. Which classes are quantised follows the
/// published checkpoints: see model_tensors.h.
struct ModelStats {
  std::array<WeightStats, kWeightClasses.size()> by_class;
  WeightStats total;
  std::uint64_t expert_parameters = 0;  ///< of one routed expert
  std::uint64_t expert_bytes = 0;
  std::uint64_t kv_bytes_per_token = 0;  ///< latent and rope key of every layer, in BF16
  std::size_t moe_layers = 0;

  [[nodiscard]] const WeightStats& of(WeightClass weight_class) const {
    return by_class[static_cast<std::size_t>(weight_class)];
  }
};

/// Sums over the tensors of a validated config; of a layer's experts only one is looked at.
ModelStats ComputeModelStats(const ModelConfig& config);

}  // namespace stoker::checkpoint
