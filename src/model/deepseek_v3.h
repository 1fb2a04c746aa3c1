#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/model_config.h"
#include "kernels/attention.h"
#include "kernels/context.h"
#include "kernels/mlp.h"
#include "kv/paged_cache.h"
#include "model/rope_table.h"
#include "model/router.h"
#include "model/step.h"
#include "model/weights.h"
#include "tensor/view.h"

namespace stoker::model {

/// The forward pass of DeepSeek-V3's architecture (arXiv 2412.19437): Kimi K2 to K2.6, DeepSeek-V3
/// and R1, Moonlight. Written once, over kernels, the paged cache and the expert store.
///
/// One step at a time, from one thread. A token's logits are bit-identical whatever else is in the
/// step and however its sequence was cut into steps.
class DeepseekV3 {
 public:
  /// `context_tokens`: positions that may occur. The kernels' pool must outlive the model.
  DeepseekV3(checkpoint::ModelConfig config, ModelWeights weights, kernels::Context context,
             std::size_t context_tokens);
  ~DeepseekV3();
  DeepseekV3(const DeepseekV3&) = delete;
  DeepseekV3& operator=(const DeepseekV3&) = delete;

  [[nodiscard]] const checkpoint::ModelConfig& config() const { return config_; }
  [[nodiscard]] const ModelWeights& weights() const { return weights_; }

  /// Shape of the cache that a model needs.
  static kv::CacheShape CacheShapeOf(const checkpoint::ModelConfig& config, kernels::KvDType dtype);
  [[nodiscard]] kv::CacheShape CacheShape(kernels::KvDType dtype) const {
    return CacheShapeOf(config_, dtype);
  }

  /// Bytes that a model needs beside weights and cache: the rope tables of `context_tokens`
  /// positions, and the activations of a step of `step_tokens` tokens with one row of logits.
  static std::size_t WorkspaceBytesOf(const checkpoint::ModelConfig& config,
                                      std::size_t context_tokens, std::size_t step_tokens);

  /// Runs one step over `sequences`, writing keys and values to `cache`. Tokens must be below the
  /// vocabulary's size and positions below context_tokens (STOKER_CHECK).
  ///
  /// Returns the logits asked for, [rows, vocab], in the order of the sequences and, within one, of
  /// its tokens; valid until the next step. `cancel`, set from any thread, ends the step after the
  /// layer that is running. Errors: what the expert store could not provide; kCancelled. The cache
  /// then holds what it held before, the positions of the step's own tokens excepted.
  absl::StatusOr<tensor::MatrixView<const float>> Step(std::span<const StepSequence> sequences,
                                                       kv::PagedCache& cache,
                                                       const std::atomic<bool>* cancel = nullptr);

  /// What the last step read.
  [[nodiscard]] const StepBytes& last_step_bytes() const { return bytes_; }

  /// nullptr: nobody watches. While a layer is reported done, last_step_bytes() counts up to there.
  void set_routing_observer(RoutingObserver* observer) { observer_ = observer; }
  void set_layer_observer(LayerObserver* observer) { layer_observer_ = observer; }

 private:
  struct Buffers;

  void BeginStep(std::span<const StepSequence> sequences, const kv::PagedCache& cache);
  void Embed();
  void Attention(LayerId layer, kv::PagedCache& cache);
  void ProjectQueries(const AttentionWeights& weights);
  absl::Status FeedForward(LayerId layer);
  void Mlp(const kernels::MlpWeights& weights);
  absl::Status RoutedExperts(LayerId layer);
  void GroupByExpert(LayerId layer);
  tensor::MatrixView<const float> Logits(std::span<const StepSequence> sequences);

  /// `x` with its 8-bit form where one of `weights` needs it.
  kernels::Activations Prepare(tensor::MatrixView<const float> x,
                               std::initializer_list<const kernels::PackedMatrix*> weights);
  void Project(tensor::MatrixView<const float> x, const kernels::PackedMatrix& weight,
               tensor::MatrixView<float> y);
  void RunJobs(std::span<const kernels::LinearJob> jobs);

  checkpoint::ModelConfig config_;
  ModelWeights weights_;
  kernels::Context context_;
  RopeTable rope_;
  float softmax_scale_;
  RoutingObserver* observer_ = nullptr;
  LayerObserver* layer_observer_ = nullptr;
  StepBytes bytes_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace stoker::model
