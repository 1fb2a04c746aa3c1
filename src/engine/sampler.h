#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"

namespace stoker::engine {

/// How the next token is drawn from logits. The defaults change nothing: plain sampling at
/// temperature 1. Applied in this order, as in vLLM: bias, penalties, temperature, min-p, top-k,
/// top-p.
struct SamplingParams {
  double temperature = 1.0;  ///< 0: greedy
  std::int64_t top_k = 0;    ///< 0: all
  double top_p = 1.0;        ///< (0, 1]
  double min_p = 0.0;        ///< [0, 1): relative to the likeliest token
  double repetition_penalty =
      1.0;  ///< 0.01 … 100; tokens of prompt and answer (CTRL, arXiv 1909.05858)
  double presence_penalty = 0.0;   ///< [-2, 2]; once for a token already in the answer
  double frequency_penalty = 0.0;  ///< [-2, 2]; per occurrence in the answer
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::uint64_t seed = 0;
  int top_logprobs = -1;  ///< < 0: none; 0: of the drawn token alone; n: also the n likeliest

  /// Errors: kInvalidArgument naming the parameter and its range.
  [[nodiscard]] absl::Status Validate(std::size_t vocab) const;
};

/// A token and the natural logarithm of its probability under the model (before temperature and the
/// filters, after bias and penalties).
struct TokenLogprob {
  TokenId token{};
  float logprob = 0.0F;
};

/// A token as it was drawn.
struct SampledToken {
  TokenId token{};
  float logprob = 0.0F;                    ///< set where logprobs were asked for
  std::vector<TokenLogprob> top_logprobs;  ///< likeliest first
};

/// Draws tokens for one sequence. The draw at a position depends on the seed, the position and the
/// logits alone, so that a suspended, moved or batched sequence goes on as if it had stayed.
/// Not thread-safe.
class Sampler {
 public:
  /// `params` must be valid for the vocabulary.
  explicit Sampler(SamplingParams params) : params_(std::move(params)) {}

  /// Takes note of a token of the prompt, or of the answer, for the penalties.
  void ObservePrompt(TokenId token);
  void ObserveAnswer(TokenId token);

  struct Candidate {
    double probability;  ///< relative to the likeliest token's
    std::int32_t token;
  };

  /// Draws from `logits` [vocab] for the token at `position` of the sequence.
  /// Errors: kDataLoss when no logit is finite, or one is NaN or +infinity.
  absl::StatusOr<SampledToken> Sample(std::span<const float> logits, std::size_t position);

 private:
  void Adjust(std::vector<float>& logits) const;
  TokenId Draw(std::span<const float> logits, std::size_t position);
  void KeepTopK();
  void KeepTopP();
  [[nodiscard]] SampledToken WithLogprobs(TokenId token, std::span<const float> logits) const;

  SamplingParams params_;
  // How often each token of prompt and answer stands in the answer.
  std::unordered_map<std::int32_t, std::int32_t> seen_;
  std::vector<float> adjusted_;        // [vocab]
  std::vector<Candidate> candidates_;  // kept to save the allocation
};

/// Uniform in [0, 1), from a counter-based generator (Philox 4x32-10; Salmon et al., SC 2011) keyed
/// by (seed, position): 53 random bits. Pure.
double UniformAt(std::uint64_t seed, std::uint64_t position);

}  // namespace stoker::engine
