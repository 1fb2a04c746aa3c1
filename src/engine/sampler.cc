#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/status.h"

namespace stoker::engine {
namespace {

// What a softmax can still tell apart from zero in double precision is far above this.
constexpr double kNegligible = 1e-300;

// Ties go to the lower token.
bool Likelier(const Sampler::Candidate& a, const Sampler::Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
}

std::int32_t ArgMax(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

// log(sum(exp(logits))), summed in double in index order.
double LogSumExp(std::span<const float> logits) {
  const double top = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

absl::Status CheckFinite(std::span<const float> logits) {
  bool any_finite = false;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const float logit = logits[token];
    if (std::isnan(logit) || logit == HUGE_VALF) {
      return DataLoss(
          "the model's logits are not finite (token {}: {}): the weights or the cache "
          "are damaged; the request was stopped",
          token, logit);
    }
    any_finite = any_finite || std::isfinite(logit);
  }
  if (!any_finite) return DataLoss("the model gave every token probability zero");
  return absl::OkStatus();
}

}  // namespace

double UniformAt(std::uint64_t seed, std::uint64_t position) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  std::array<std::uint32_t, 4> counter = {static_cast<std::uint32_t>(position),
                                          static_cast<std::uint32_t>(position >> 32), 0, 0};
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
               static_cast<std::uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  const std::uint64_t bits = (static_cast<std::uint64_t>(counter[0]) << 32) | counter[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

absl::Status SamplingParams::Validate(std::size_t vocab) const {
  const auto in = [](double value, double low, double high) {
    return value >= low && value <= high;
  };
  if (!in(temperature, 0.0, 100.0)) {
    return InvalidArgument("temperature is {}; it must be from 0 to 100", temperature);
  }
  if (top_k < 0) return InvalidArgument("top_k is {}; it must be 0 (all) or more", top_k);
  if (!(top_p > 0.0 && top_p <= 1.0)) {
    return InvalidArgument("top_p is {}; it must be above 0 and at most 1", top_p);
  }
  if (!(min_p >= 0.0 && min_p < 1.0)) {
    return InvalidArgument("min_p is {}; it must be from 0 to below 1", min_p);
  }
  if (!(repetition_penalty >= 0.01 && repetition_penalty <= 100.0)) {
    return InvalidArgument("repetition_penalty is {}; it must be from 0.01 to 100",
                           repetition_penalty);
  }
  if (!in(presence_penalty, -2.0, 2.0)) {
    return InvalidArgument("presence_penalty is {}; it must be from -2 to 2", presence_penalty);
  }
  if (!in(frequency_penalty, -2.0, 2.0)) {
    return InvalidArgument("frequency_penalty is {}; it must be from -2 to 2", frequency_penalty);
  }
  for (const auto& [token, bias] : logit_bias) {
    if (static_cast<std::int64_t>(token) < 0 || Index(token) >= vocab) {
      return InvalidArgument("logit_bias names token {}; the vocabulary has {}",
                             static_cast<std::int64_t>(token), vocab);
    }
    if (!(std::abs(bias) <= 100.0F)) {
      return InvalidArgument("logit_bias of token {} is {}; it must be from -100 to 100",
                             static_cast<std::int64_t>(token), bias);
    }
  }
  return absl::OkStatus();
}

void Sampler::ObservePrompt(TokenId token) {
  seen_.try_emplace(static_cast<std::int32_t>(token), 0);
}

void Sampler::ObserveAnswer(TokenId token) {
  ++seen_[static_cast<std::int32_t>(token)];
}

absl::StatusOr<SampledToken> Sampler::Sample(std::span<const float> logits, std::size_t position) {
  STOKER_RETURN_IF_ERROR(CheckFinite(logits));
  const bool adjusts = !params_.logit_bias.empty() || params_.repetition_penalty != 1.0 ||
                       params_.presence_penalty != 0.0 || params_.frequency_penalty != 0.0;
  if (adjusts) {
    adjusted_.assign(logits.begin(), logits.end());
    Adjust(adjusted_);
    STOKER_RETURN_IF_ERROR(CheckFinite(adjusted_));
    logits = adjusted_;
  }
  return WithLogprobs(Draw(logits, position), logits);
}

void Sampler::Adjust(std::vector<float>& logits) const {
  for (const auto& [token, bias] : params_.logit_bias) logits[Index(token)] += bias;
  const auto repetition = static_cast<float>(params_.repetition_penalty);
  for (const auto& [token, in_answer] : seen_) {
    if (static_cast<std::size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<std::size_t>(token)];
    logit = logit > 0.0F ? logit / repetition : logit * repetition;
    if (in_answer > 0) {
      logit -= static_cast<float>(params_.presence_penalty + params_.frequency_penalty * in_answer);
    }
  }
}

TokenId Sampler::Draw(std::span<const float> logits, std::size_t position) {
  if (params_.temperature == 0.0) return TokenId{ArgMax(logits)};
  const double top = static_cast<double>(*std::ranges::max_element(logits));
  candidates_.clear();
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const double distance = static_cast<double>(logits[token]) - top;
    // Relative to the likeliest token, whose value here is 1.
    const double probability = std::exp(distance / params_.temperature);
    if (probability < params_.min_p || probability < kNegligible) continue;
    candidates_.push_back({probability, static_cast<std::int32_t>(token)});
  }
  KeepTopK();
  KeepTopP();
  double total = 0.0;
  for (const Candidate& candidate : candidates_) total += candidate.probability;
  double left = UniformAt(params_.seed, position) * total;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.probability;
    if (left < 0.0) return TokenId{candidate.token};
  }
  // Rounding may leave a remainder after the last candidate.
  return TokenId{candidates_.back().token};
}

void Sampler::KeepTopK() {
  const auto k = static_cast<std::size_t>(params_.top_k);
  if (k == 0 || k >= candidates_.size()) return;
  std::ranges::partial_sort(candidates_, candidates_.begin() + params_.top_k, Likelier);
  candidates_.resize(k);
}

// Keeps the fewest likeliest candidates whose probabilities reach top_p of the total. A heap, since
// few of a large vocabulary are ever popped.
void Sampler::KeepTopP() {
  if (params_.top_p >= 1.0) return;
  double total = 0.0;
  for (const Candidate& candidate : candidates_) total += candidate.probability;
  const auto less_likely = [](const Candidate& a, const Candidate& b) { return Likelier(b, a); };
  std::ranges::make_heap(candidates_, less_likely);
  double kept = 0.0;
  auto heap_end = candidates_.end();
  do {
    std::pop_heap(candidates_.begin(), heap_end, less_likely);
    --heap_end;
    kept += heap_end->probability;
  } while (heap_end != candidates_.begin() && kept < params_.top_p * total);
  candidates_.erase(candidates_.begin(), heap_end);
  std::ranges::reverse(candidates_);  // likeliest first
}

SampledToken Sampler::WithLogprobs(TokenId token, std::span<const float> logits) const {
  SampledToken result = {.token = token, .logprob = 0.0F, .top_logprobs = {}};
  if (params_.top_logprobs < 0) return result;
  const double normaliser = LogSumExp(logits);
  const auto logprob = [&](std::int32_t id) {
    return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(id)]) -
                              normaliser);
  };
  result.logprob = logprob(static_cast<std::int32_t>(token));
  std::vector<std::int32_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const std::size_t count = std::min(order.size(), static_cast<std::size_t>(params_.top_logprobs));
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            [&](std::int32_t a, std::int32_t b) {
                              const float logit_a = logits[static_cast<std::size_t>(a)];
                              const float logit_b = logits[static_cast<std::size_t>(b)];
                              return logit_a != logit_b ? logit_a > logit_b : a < b;
                            });
  for (std::size_t i = 0; i < count; ++i) {
    result.top_logprobs.push_back({TokenId{order[i]}, logprob(order[i])});
  }
  return result;
}

}  // namespace stoker::engine
