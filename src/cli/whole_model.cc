#include "cli/whole_model.h"

#include <algorithm>

#include "base/check.h"

namespace stoker::cli {
namespace {

// Each by itself: layers of one kind do the same work, so their order says nothing.
PartCost Median(std::vector<PartCost> costs) {
  if (costs.empty()) return {};
  PartCost median;
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::ranges::nth_element(costs, middle, {}, &PartCost::seconds);
  median.seconds = middle->seconds;
  std::ranges::nth_element(costs, middle, {}, &PartCost::bytes);
  median.bytes = middle->bytes;
  return median;
}

}  // namespace

std::optional<LayerCounts> WholeModelOf(const checkpoint::ModelConfig& config) {
  constexpr std::size_t kLayers = 61;  // Kimi K2 to K2.6
  const bool k2 = config.hidden == 7168 && config.heads == 64 && config.q_lora_rank == 1536 &&
                  config.kv_lora_rank == 512 && config.dense_width == 18432 &&
                  config.expert_width == 2048 && config.router.experts == 384 &&
                  config.router.top_k == 8 && config.vocab == 163840;
  const bool has_both = config.dense_layers == 1 && config.layers > 1;
  if (!k2 || !has_both || config.layers >= kLayers) return std::nullopt;
  return LayerCounts{.dense = 1, .moe = kLayers - 1};
}

PartCost WholeModelStep(const StepCosts& costs, const LayerCounts& layers) {
  return {.seconds = costs.outside.seconds +
                     costs.dense_layer.seconds * static_cast<double>(layers.dense) +
                     costs.moe_layer.seconds * static_cast<double>(layers.moe),
          .bytes = costs.outside.bytes + costs.dense_layer.bytes * layers.dense +
                   costs.moe_layer.bytes * layers.moe};
}

void StepClock::Begin() {
  outside_ = {};
  last_bytes_ = 0;
  last_time_ = Clock::now();
}

void StepClock::End() {
  const PartCost head = Lap();
  outsides_.push_back({outside_.seconds + head.seconds, outside_.bytes + head.bytes});
}

StepCosts StepClock::Costs() const {
  STOKER_CHECK(!outsides_.empty());
  return {.dense_layer = Median(dense_layers_),
          .moe_layer = Median(moe_layers_),
          .outside = Median(outsides_)};
}

void StepClock::OnEmbedded() {
  outside_ = Lap();
}

void StepClock::OnLayerDone(LayerId layer) {
  PartCost cost = Lap();
  cost.bytes += model_->last_step_bytes().kv / model_->config().layers;
  (model_->config().IsMoe(layer) ? moe_layers_ : dense_layers_).push_back(cost);
}

PartCost StepClock::Lap() {
  const Clock::time_point now = Clock::now();
  // The step counts the cache of all layers at once, when it begins.
  const std::uint64_t bytes = model_->last_step_bytes().weights;
  const PartCost lap = {.seconds = std::chrono::duration<double>(now - last_time_).count(),
                        .bytes = bytes - last_bytes_};
  last_time_ = now;
  last_bytes_ = bytes;
  return lap;
}

}  // namespace stoker::cli
