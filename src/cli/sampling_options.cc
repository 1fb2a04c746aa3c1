#include "cli/sampling_options.h"

#include <algorithm>
#include <limits>
#include <random>
#include <system_error>

#include "base/json.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "sys/file.h"
#include "text/stop.h"

namespace stoker::cli {
namespace {

constexpr std::string_view kFile = "generation_config.json";
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 20;
constexpr double kTopP = 0.95;
constexpr double kTemperature = 0.6;
constexpr double kThinkingTemperature = 1.0;
constexpr int kMostLogprobs = 1000;
constexpr std::size_t kAnyVocab = std::numeric_limits<std::size_t>::max();

absl::StatusOr<std::pair<TokenId, float>> ParseBias(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::uint64_t token = 0;
  double bias = 0.0;
  if (equals == std::string::npos || !ParseValue(text.substr(0, equals), token).ok() ||
      !ParseValue(text.substr(equals + 1), bias).ok() ||
      token > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    return InvalidArgument("--logit-bias: \"{}\" is not TOKEN=BIAS, such as 198=-5", text);
  }
  return std::pair{TokenId{static_cast<std::int32_t>(token)}, static_cast<float>(bias)};
}

absl::Status Read(const nlohmann::json& json, const char* key, std::optional<double>& target) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absl::OkStatus();
  if (!found->is_number()) return InvalidArgument("{} is not a number", key);
  target = found->get<double>();
  return absl::OkStatus();
}

absl::Status Read(const nlohmann::json& json, const char* key,
                  std::optional<std::int64_t>& target) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absl::OkStatus();
  // The parser holds whole numbers from 0 as unsigned ones.
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() || found->get<std::uint64_t>() <= kMost);
  if (!fits) return InvalidArgument("{} is {}, no whole number of 64 bits", key, found->dump());
  target = found->get<std::int64_t>();
  return absl::OkStatus();
}

absl::Status Read(const nlohmann::json& json, SamplingOptions& sampling) {
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  STOKER_RETURN_IF_ERROR(Read(json, "temperature", sampling.temperature));
  STOKER_RETURN_IF_ERROR(Read(json, "top_k", sampling.top_k));
  STOKER_RETURN_IF_ERROR(Read(json, "top_p", sampling.top_p));
  STOKER_RETURN_IF_ERROR(Read(json, "min_p", sampling.min_p));
  STOKER_RETURN_IF_ERROR(Read(json, "repetition_penalty", sampling.repetition_penalty));
  const auto sample = json.find("do_sample");
  if (sample != json.end() && sample->is_boolean() && !sample->get<bool>()) {
    sampling.temperature = 0.0;
  }
  STOKER_ASSIGN_OR_RETURN(const engine::SamplingParams params,
                          ResolveSampling(SamplingOptions(), sampling, false, 0));
  return params.Validate(kAnyVocab);
}

}  // namespace

void AddSamplingOptions(Options& options, SamplingOptions& sampling) {
  options.Heading("answering");
  options.Value("-n,--max-tokens", "N", sampling.max_tokens,
                "tokens of the answer at most; default: what the context holds");
  options.Repeated("--stop", "TEXT", sampling.stops,
                   "end the answer before this text; may be given several times");
  options.Flag("--greedy", sampling.greedy, "always take the likeliest token");
  options.Value("--temperature", "X", sampling.temperature,
                "0 is greedy; default: the model's, else 0.6, or 1.0 when thinking");
  options.Value("--top-k", "N", sampling.top_k, "draw from the N likeliest tokens; 0: from all");
  options.Value("--top-p", "X", sampling.top_p,
                "draw from the likeliest tokens that together reach X; default: the model's, "
                "else 0.95");
  options.Value("--min-p", "X", sampling.min_p,
                "leave out tokens less likely than X times the likeliest");
  options.Value("--repetition-penalty", "X", sampling.repetition_penalty,
                "divide the logits of tokens seen before by X; 1 is off");
  options.Value("--presence-penalty", "X", sampling.presence_penalty,
                "subtract X from the logits of tokens in the answer");
  options.Value("--frequency-penalty", "X", sampling.frequency_penalty,
                "the same for each time that they occur");
  options.Repeated("--logit-bias", "TOKEN=X", sampling.logit_bias,
                   "add X to the logit of a token id; may be given several times");
  options.Value("--seed", "N", sampling.seed, "draw the same answer again; default: random");
  options.Value("--logprobs", "N", sampling.logprobs,
                "with --json: log-probabilities of each token and its N likeliest rivals");
}

absl::StatusOr<SamplingOptions> ParseRecommendedSampling(std::string_view json_text) {
  SamplingOptions sampling;
  const absl::StatusOr<nlohmann::json> json = ParseJson(json_text);
  if (!json.ok()) return At(kFile, json.status());
  STOKER_RETURN_IF_ERROR(At(kFile, Read(*json, sampling)));
  return sampling;
}

absl::StatusOr<SamplingOptions> ReadRecommendedSampling(const std::filesystem::path& model) {
  const std::filesystem::path path = model / kFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return SamplingOptions();
  STOKER_ASSIGN_OR_RETURN(const std::string text, sys::ReadTextFile(path, kLargestFile));
  return ParseRecommendedSampling(text);
}

absl::StatusOr<engine::SamplingParams> ResolveSampling(const SamplingOptions& asked,
                                                       const SamplingOptions& recommended,
                                                       bool thinking, std::uint64_t random_seed) {
  engine::SamplingParams params;
  const double temperature = thinking ? kThinkingTemperature : kTemperature;
  params.temperature =
      asked.greedy ? 0.0
                   : asked.temperature.value_or(recommended.temperature.value_or(temperature));
  params.top_k = asked.top_k.value_or(recommended.top_k.value_or(0));
  params.top_p = asked.top_p.value_or(recommended.top_p.value_or(kTopP));
  params.min_p = asked.min_p.value_or(recommended.min_p.value_or(0.0));
  params.repetition_penalty =
      asked.repetition_penalty.value_or(recommended.repetition_penalty.value_or(1.0));
  params.presence_penalty = asked.presence_penalty;
  params.frequency_penalty = asked.frequency_penalty;
  params.seed = asked.seed.value_or(random_seed);
  params.top_logprobs = asked.logprobs.value_or(-1);
  for (const std::string& text : asked.logit_bias) {
    STOKER_ASSIGN_OR_RETURN(auto bias, ParseBias(text));
    params.logit_bias.push_back(bias);
  }
  return params;
}

absl::Status CheckSampling(const SamplingOptions& asked) {
  if (asked.max_tokens == 0) return InvalidArgument("--max-tokens: use 1 or more");
  STOKER_RETURN_IF_ERROR(At("--stop", text::StopMatcher::Create(asked.stops).status()));
  if (asked.logprobs && (*asked.logprobs < 0 || *asked.logprobs > kMostLogprobs)) {
    return InvalidArgument("--logprobs: {} is not from 0 to {}", *asked.logprobs, kMostLogprobs);
  }
  if (asked.greedy && asked.temperature.value_or(0.0) != 0.0) {
    return InvalidArgument("--greedy and --temperature {} contradict each other",
                           *asked.temperature);
  }
  STOKER_ASSIGN_OR_RETURN(const engine::SamplingParams params,
                          ResolveSampling(asked, SamplingOptions(), false, 0));
  return CheckParams(params, kAnyVocab);
}

absl::Status CheckParams(const engine::SamplingParams& params, std::size_t vocab) {
  const absl::Status status = params.Validate(vocab);
  if (status.ok()) return status;
  // The message begins with the parameter's name, "top_p is …"; the option's is --top-p.
  std::string message(Message(status));
  const auto name_end = message.begin() + static_cast<std::ptrdiff_t>(message.find(' '));
  std::replace(message.begin(), name_end, '_', '-');
  return InvalidArgument("--{}", message);
}

std::uint64_t RandomSeed() {
  return std::random_device()();
}

}  // namespace stoker::cli
