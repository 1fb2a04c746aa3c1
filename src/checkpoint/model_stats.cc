#include "checkpoint/model_stats.h"

#include <vector>

namespace stoker::checkpoint {
namespace {

constexpr std::uint64_t kKvElementBytes = 2;

// Adds `copies` tensors like `tensor`, of which a token uses `active_copies`.
void Add(ModelStats& stats, const ModelTensor& tensor, std::uint64_t copies,
         std::uint64_t active_copies) {
  for (WeightStats* sum :
       {&stats.by_class[static_cast<std::size_t>(tensor.weight_class)], &stats.total}) {
    sum->parameters += copies * tensor.parameters();
    sum->bytes += copies * tensor.bytes();
    sum->active_parameters += active_copies * tensor.parameters();
    sum->active_bytes += active_copies * tensor.bytes();
  }
}

void AddOuter(ModelStats& stats, const ModelConfig& config) {
  for (const ModelTensor& tensor : OuterTensors(config)) {
    if (tensor.weight_class != WeightClass::kEmbedding) {
      Add(stats, tensor, 1, 1);
      continue;
    }
    Add(stats, tensor, 1, 0);
    ModelTensor row = tensor;
    row.rows = 1;
    Add(stats, row, 0, 1);
    if (config.tied_embeddings) {  // the same bytes, read once more as the head
      ModelTensor head = tensor;
      head.weight_class = WeightClass::kHead;
      Add(stats, head, 0, 1);
    }
  }
}

}  // namespace

ModelStats ComputeModelStats(const ModelConfig& config) {
  ModelStats stats;
  AddOuter(stats, config);
  for (std::size_t index = 0; index < config.layers; ++index) {
    const LayerId layer{static_cast<std::int32_t>(index)};
    for (const ModelTensor& tensor : LayerTensors(config, layer)) Add(stats, tensor, 1, 1);
    if (!config.IsMoe(layer)) continue;
    ++stats.moe_layers;
    for (const ModelTensor& tensor : ExpertTensors(config, {layer, 0})) {
      Add(stats, tensor, config.router.experts, config.router.top_k);
    }
  }
  for (const ModelTensor& tensor : ExpertTensors(config, {LayerId{0}, 0})) {
    stats.expert_parameters += tensor.parameters();
    stats.expert_bytes += tensor.bytes();
  }
  stats.kv_bytes_per_token =
      (config.kv_lora_rank + config.qk_rope_dim) * config.layers * kKvElementBytes;
  return stats;
}

}  // namespace stoker::checkpoint
