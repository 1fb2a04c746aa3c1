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

struct LayerWeights {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

/// A whole model in memory, in the kernels' layout, in one allocation on huge pages.
struct ModelWeights {
  tensor::WeightFormat embedding_format = tensor::WeightFormat::kBf16;
  const std::byte* embedding = nullptr;  // [vocab, hidden], row-major
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [hidden]
  kernels::PackedMatrix head;     // [vocab, hidden]
  std::unique_ptr<experts::ExpertStore> experts;
  sys::HugeBuffer memory;

  [[nodiscard]] std::size_t loaded_bytes() const { return memory.bytes().size(); }
};

/// Called with the bytes of matrices packed so far and those that the weights take in all, which
/// with gaps for alignment are a little more; returns false to give up (kCancelled).
using LoadProgress = std::function<bool(std::size_t done_bytes, std::size_t total_bytes)>;

/// Copies a checkpoint's weights into the kernels' layout, in parallel, each panel first written by
/// a worker of the NUMA node that will read it.
///
/// kv_b_proj keeps its element type when it is F32, F16 or BF16; quantised, it is dequantised to
/// BF16, or to F32 where `exact` is set.
/// Errors: kNotFound or kInvalidArgument naming the tensor; kResourceExhausted with the arithmetic
/// when the weights do not fit in available memory; kCancelled.
absl::StatusOr<ModelWeights> LoadWeights(const checkpoint::Checkpoint& checkpoint,
                                         const kernels::Context& context, bool exact,
                                         const LoadProgress& progress);

}  // namespace stoker::model
