#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/options.h"
#include "engine/sampler.h"

namespace stoker::cli {

/// How an answer is drawn, as far as someone said so.
struct SamplingOptions {
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::vector<std::string> logit_bias;  ///< "TOKEN=BIAS"
  std::optional<std::uint64_t> seed;
  std::optional<int> logprobs;
  bool greedy = false;
  std::optional<std::size_t> max_tokens;  ///< as many as the context holds
  std::vector<std::string> stops;
};

/// Declares the options of answering; they are read into `sampling`.
void AddSamplingOptions(Options& options, SamplingOptions& sampling);

/// What a model's generation_config.json recommends; nothing where there is no such file.
/// Errors: kInvalidArgument, naming file and key, for a file or a value that is not what it should
/// be.
absl::StatusOr<SamplingOptions> ReadRecommendedSampling(const std::filesystem::path& model);
/// The same from the file's text. Pure.
absl::StatusOr<SamplingOptions> ParseRecommendedSampling(std::string_view json_text);

/// The parameters to draw with: what the user asked for, else what the model recommends, else
/// top-p 0.95 at temperature 1.0 for an answer that thinks first and 0.6 for one that does not (as
/// Kimi K2.5's model card recommends). `random_seed` is used where no seed was given.
/// Errors: kInvalidArgument naming the option. Pure.
absl::StatusOr<engine::SamplingParams> ResolveSampling(const SamplingOptions& asked,
                                                       const SamplingOptions& recommended,
                                                       bool thinking, std::uint64_t random_seed);

/// Whether the options are in range, whatever the model. Errors: kInvalidArgument naming the
/// option. Pure.
absl::Status CheckSampling(const SamplingOptions& asked);

/// Whether parameters of ResolveSampling fit a model of `vocab` tokens. Errors: kInvalidArgument
/// naming the option. Pure.
absl::Status CheckParams(const engine::SamplingParams& params, std::size_t vocab);

/// A seed that nobody chose.
std::uint64_t RandomSeed();

}  // namespace stoker::cli
