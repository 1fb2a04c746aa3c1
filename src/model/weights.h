#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "experts/expert_store.h"
#include "kernels/context.h"
#include "kernels/mlp.h"
#include "kernels/packed_matrix.h"
#include "sys/memory.h"
#include "tensor/view.h"

namespace stoker::model {

/// Multi-head latent attention of one layer.
struct AttentionWeights {
  std::vector<float> input_norm;  // [hidden]
  kernels::PackedMatrix q_a;      // [q_lora_rank, hidden]; empty without q_lora
  std::vector<float> q_a_norm;    // [q_lora_rank]
  kernels::PackedMatrix q_b;      // [heads * (nope + rope), q_lora_rank or hidden]
  kernels::PackedMatrix kv_a;     // [latent + rope, hidden]
  std::vector<float> kv_a_norm;   // [latent]
  /// kv_b_proj taken apart for the absorbed form, one matrix a head.
  std::vector<kernels::PackedMatrix> key_up;    // [latent, nope]: W_UK transposed
  std::vector<kernels::PackedMatrix> value_up;  // [v_head_dim, latent]: W_UV
  kernels::PackedMatrix o;                      // [hidden, heads * v_head_dim]
};

/// The feed-forward half of one layer: dense, or router with shared experts (routed experts live in
/// the ExpertStore).
struct FeedForwardWeights {
  std::vector<float> norm;         // [hidden]
  kernels::MlpWeights dense;       ///< dense layers only
  kernels::PackedMatrix router;    // [experts, hidden]
  std::vector<float> router_bias;  // [experts]
  kernels::MlpWeights shared;      ///< all shared experts as one block; empty without any
};

/// One decoder layer.
struct LayerWeights {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

/// A whole model in memory, in the kernels' layout, in one allocation on huge pages.
struct ModelWeights {
  kernels::PackedMatrix embedding;  // [vocab, hidden], not quantised
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [hidden]
  kernels::PackedMatrix head;     // [vocab, hidden]; the embedding itself where they are tied
  std::unique_ptr<experts::ExpertStore> experts;
  sys::HugeBuffer memory;

  [[nodiscard]] std::size_t loaded_bytes() const { return memory.bytes().size(); }
};

/// Called with the bytes of matrices packed so far and those that the weights take in all, which
/// with gaps for alignment are a little more; returns false to give up (kCancelled).
using LoadProgress = std::function<bool(std::size_t done_bytes, std::size_t total_bytes)>;

/// What a model needs beside its weights, in bytes.
struct RunMemory {
  std::size_t cache = 0;
  std::size_t workspace = 0;
};

struct LoadOptions {
  /// Dequantises a quantised kv_b_proj to F32 rather than BF16. (F32, F16 and BF16 stay.)
  bool exact = false;
  /// What must fit beside the weights.
  RunMemory beside = {};
  LoadProgress progress = {};
};

/// Copies a checkpoint's weights into the kernels' layout, in parallel, each panel first written by
/// a worker of the NUMA node that will read it.
///
/// Errors: as checkpoint::CheckTensors; kInvalidArgument for a value that would change answers
/// unnoticed (a scale, norm or router weight that is no finite number), naming the tensor;
/// kResourceExhausted with the arithmetic when the model does not fit in available memory, before
/// anything is loaded; kDataLoss when a shard changed meanwhile; kCancelled.
absl::StatusOr<ModelWeights> LoadWeights(const checkpoint::Checkpoint& checkpoint,
                                         const kernels::Context& context,
                                         const LoadOptions& options);

}  // namespace stoker::model
