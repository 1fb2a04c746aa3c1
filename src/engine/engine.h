#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "checkpoint/checkpoint.h"
#include "engine/sampler.h"
#include "kernels/attention.h"
#include "kernels/context.h"
#include "kv/paged_cache.h"
#include "model/deepseek_v3.h"
#include "sys/thread_pool.h"

namespace stoker::engine {

/// How to load and run a model. Zero means "choose".
struct EngineOptions {
  int threads = 0;                           ///< one per physical core
  std::string isa = "auto";                  ///< kernels::ParseIsa
  std::size_t context_tokens = 0;            ///< the model's, at most kDefaultContext
  std::size_t cache_tokens = 0;              ///< tokens of all sequences together; context_tokens
  std::size_t prefill_chunk = 512;           ///< prompt tokens a step takes at most
  std::optional<kernels::KvDType> kv_dtype;  ///< BF16; F32 with the reference kernels
};

inline constexpr std::size_t kDefaultContext = 8192;

/// One conversation's place in the cache: the tokens whose keys and values are held. Belongs to one
/// engine, which must outlive it.
class Sequence {
 public:
  explicit Sequence(kv::PagedCache& cache) : blocks_(cache) {}

  [[nodiscard]] std::span<const TokenId> cached_tokens() const { return cached_; }

  /// Forgets everything after the first `tokens` cached tokens.
  void Truncate(std::size_t tokens);

 private:
  friend class Engine;
  std::vector<TokenId> cached_;
  kv::BlockTable blocks_;
};

/// Why an answer ended: a stop token or the caller's word, max_tokens or the context, or cancel.
enum class FinishReason : std::uint8_t { kStop, kLength, kCancelled };

/// What to generate. `stop_tokens` end the answer and belong to it; they are reported like others.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  std::size_t max_tokens = 0;  ///< 0: as many as the context holds
  std::vector<TokenId> stop_tokens;
  /// Set from any thread (or a signal handler) to stop within one layer of a step.
  const std::atomic<bool>* cancel = nullptr;
};

/// Told of each token as it is drawn; false ends the answer (kStop).
using TokenSink = std::function<bool(const SampledToken& token)>;
/// Told how many prompt tokens have been processed.
using PrefillProgress = std::function<void(std::size_t done, std::size_t total)>;

/// What a generation did and cost.
struct GenerationStats {
  FinishReason finish = FinishReason::kStop;
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  ///< of the prompt, found in the cache
  std::size_t answer_tokens = 0;
  std::size_t decode_steps = 0;    ///< answer tokens after the first
  double prefill_seconds = 0;      ///< until the first token's logits
  double decode_seconds = 0;       ///< of the decode steps
  std::uint64_t decode_bytes = 0;  ///< weights and cache that the decode steps read

  [[nodiscard]] double decode_gb_per_s() const;
};

/// A loaded model that generates. Single-threaded from outside: one call at a time.
class Engine {
 public:
  /// Opens and loads a checkpoint folder. Refuses, with the arithmetic, what does not fit in memory
  /// (weights + cache + workspace). Errors: as Checkpoint::Open and model::LoadWeights.
  static absl::StatusOr<std::unique_ptr<Engine>> Load(const std::filesystem::path& model,
                                                      const EngineOptions& options,
                                                      const model::LoadProgress& progress);

  [[nodiscard]] const checkpoint::ModelConfig& config() const { return model_->config(); }
  [[nodiscard]] kernels::Isa isa() const { return isa_; }
  [[nodiscard]] int threads() const { return pool_->size(); }
  [[nodiscard]] std::size_t context_tokens() const { return context_tokens_; }
  [[nodiscard]] double load_seconds() const { return load_seconds_; }

  /// The parts, for benchmarks and tests that drive steps themselves.
  [[nodiscard]] model::DeepseekV3& model() { return *model_; }
  [[nodiscard]] kv::PagedCache& cache() { return *cache_; }
  [[nodiscard]] sys::ThreadPool& pool() { return *pool_; }

  [[nodiscard]] Sequence NewSequence() { return Sequence(*cache_); }

  /// Continues `sequence` so that it holds request.prompt, reusing the longest prefix that it holds
  /// already, then generates. Tokens drawn are appended to the sequence, but
  /// for the last, which no step has read.
  /// Errors: kInvalidArgument for an empty prompt, a token outside the vocabulary, a prompt that
  /// leaves no room in the context, or bad sampling parameters; kDataLoss for non-finite logits.
  absl::StatusOr<GenerationStats> Generate(Sequence& sequence, const GenerationRequest& request,
                                           const TokenSink& sink,
                                           const PrefillProgress& prefill_progress = {});

 private:
  Engine() = default;

  /// Runs `tokens`, which follow what `sequence` holds, in chunks; returns the last token's logits.
  absl::StatusOr<std::span<const float>> Prefill(Sequence& sequence,
                                                 std::span<const TokenId> tokens,
                                                 const std::atomic<bool>* cancel,
                                                 const PrefillProgress& progress);
  absl::StatusOr<std::span<const float>> Advance(Sequence& sequence,
                                                 std::span<const TokenId> tokens,
                                                 model::LogitsWanted logits,
                                                 const std::atomic<bool>* cancel);
  absl::Status Validate(const GenerationRequest& request) const;
  absl::Status Decode(Sequence& sequence, const GenerationRequest& request,
                      std::span<const float> logits, const TokenSink& sink, GenerationStats& stats);

  std::unique_ptr<sys::ThreadPool> pool_;
  kernels::Isa isa_ = kernels::Isa::kRef;
  std::unique_ptr<model::DeepseekV3> model_;
  std::unique_ptr<kv::PagedCache> cache_;
  std::size_t context_tokens_ = 0;
  std::size_t prefill_chunk_ = 512;
  double load_seconds_ = 0;
};

}  // namespace stoker::engine
