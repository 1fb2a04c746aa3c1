#include "engine/sampler.h"

#include <cmath>
#include <limits>
#include <map>

#include "gtest/gtest.h"

namespace stoker::engine {
namespace {

const std::vector<float> kLogits = {1.0F, 3.0F, 2.0F, -1.0F, 3.0F};

TokenId Greedy(SamplingParams params, const std::vector<float>& logits = kLogits,
               const std::vector<int>& prompt = {}, const std::vector<int>& answer = {}) {
  params.temperature = 0.0;
  Sampler sampler(params);
  for (const int token : prompt) sampler.ObservePrompt(TokenId{token});
  for (const int token : answer) sampler.ObserveAnswer(TokenId{token});
  const auto sampled = sampler.Sample(logits, 0);
  EXPECT_TRUE(sampled.ok()) << sampled.status();
  return sampled->token;
}

std::map<int, double> Frequencies(const SamplingParams& params, int draws = 20000) {
  Sampler sampler(params);
  std::map<int, double> frequencies;
  for (int position = 0; position < draws; ++position) {
    const auto sampled = sampler.Sample(kLogits, static_cast<std::size_t>(position));
    EXPECT_TRUE(sampled.ok());
    frequencies[static_cast<int>(sampled->token)] += 1.0 / draws;
  }
  return frequencies;
}

TEST(Sampler, GreedyTakesTheFirstOfTheBest) {
  EXPECT_EQ(Greedy({}), TokenId{1});
}

TEST(Sampler, DrawsFollowTheSoftmax) {
  const auto frequencies = Frequencies({});
  double total = 0;
  for (const float logit : kLogits) total += std::exp(logit);
  for (int token = 0; token < 5; ++token) {
    EXPECT_NEAR(frequencies.at(token), std::exp(kLogits[static_cast<std::size_t>(token)]) / total,
                0.012)
        << token;
  }
}

TEST(Sampler, TemperatureSharpens) {
  const auto frequencies = Frequencies({.temperature = 0.25});
  EXPECT_GT(frequencies.at(1) + frequencies.at(4), 0.98);
}

TEST(Sampler, TopKKeepsTheLikeliestWithTiesToTheLowerToken) {
  EXPECT_EQ(Frequencies({.top_k = 1}).size(), 1U);
  const auto two = Frequencies({.top_k = 2});
  EXPECT_EQ(two.size(), 2U);
  EXPECT_TRUE(two.contains(1) && two.contains(4));
  EXPECT_EQ(Frequencies({.top_k = 100}).size(), 5U);
}

TEST(Sampler, TopPKeepsTheFewestThatReachTheMass) {
  // Probabilities, likeliest first: 0.388 (1), 0.388 (4), 0.143 (2), 0.0525 (0), 0.0071 (3).
  EXPECT_EQ(Frequencies({.top_p = 0.3}).size(), 1U);
  EXPECT_EQ(Frequencies({.top_p = 0.7}).size(), 2U);
  EXPECT_EQ(Frequencies({.top_p = 0.9}).size(), 3U);
  EXPECT_EQ(Frequencies({.top_k = 2, .top_p = 0.45}).size(), 1U) << "of what top-k left";
}

TEST(Sampler, MinPIsRelativeToTheLikeliest) {
  EXPECT_EQ(Frequencies({.min_p = 0.9}).size(), 2U);
  EXPECT_EQ(Frequencies({.min_p = 0.3}).size(), 3U);
}

TEST(Sampler, PenaltiesAndBias) {
  EXPECT_EQ(Greedy({.repetition_penalty = 2.0}, kLogits, {1}), TokenId{4}) << "prompt counts";
  EXPECT_EQ(Greedy({.repetition_penalty = 2.0}, {-1.0F, -1.5F}, {0}), TokenId{1})
      << "negative logits are multiplied";
  EXPECT_EQ(Greedy({.presence_penalty = 1.0}, kLogits, {1}), TokenId{1}) << "prompt does not";
  EXPECT_EQ(Greedy({.presence_penalty = 0.5}, kLogits, {}, {1}), TokenId{4});
  EXPECT_EQ(Greedy({.frequency_penalty = 0.4}, kLogits, {}, {1, 4, 4, 1, 1, 4}), TokenId{2});
  EXPECT_EQ(Greedy({.logit_bias = {{TokenId{3}, 10.0F}}}), TokenId{3});
}

TEST(Sampler, ADrawDependsOnSeedAndPositionAlone) {
  Sampler straight({.seed = 7});
  std::vector<TokenId> tokens;
  for (std::size_t position = 0; position < 50; ++position) {
    tokens.push_back(straight.Sample(kLogits, position)->token);
  }
  Sampler resumed({.seed = 7});
  for (std::size_t position = 25; position < 50; ++position) {
    EXPECT_EQ(resumed.Sample(kLogits, position)->token, tokens[position]);
  }
  Sampler other({.seed = 8});
  int same = 0;
  for (std::size_t position = 0; position < 50; ++position) {
    same += other.Sample(kLogits, position)->token == tokens[position] ? 1 : 0;
  }
  EXPECT_LT(same, 45);
}

TEST(Sampler, UniformNumbersAreUniform) {
  double sum = 0;
  double low = 1;
  double high = 0;
  for (std::uint64_t position = 0; position < 100000; ++position) {
    const double value = UniformAt(42, position);
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
  EXPECT_GE(low, 0.0);
  EXPECT_LT(high, 1.0);
}

// Known answer of Philox 4x32-10 (Random123's kat_vectors: zero counter, zero key) in its first
// two words: 6627e8d5 e169c58d.
TEST(Sampler, GeneratorMatchesTheKnownAnswer) {
  const std::uint64_t bits = 0x6627e8d5e169c58dULL;
  EXPECT_EQ(UniformAt(0, 0), static_cast<double>(bits >> 11) * 0x1p-53);
}

TEST(Sampler, LogprobsAreTheModelsOwn) {
  Sampler sampler({.temperature = 0.0, .top_logprobs = 3});
  const auto sampled = sampler.Sample(kLogits, 0);
  ASSERT_TRUE(sampled.ok());
  double total = 0;
  for (const float logit : kLogits) total += std::exp(logit);
  EXPECT_NEAR(sampled->logprob, 3.0 - std::log(total), 1e-6);
  ASSERT_EQ(sampled->top_logprobs.size(), 3U);
  EXPECT_EQ(sampled->top_logprobs[0].token, TokenId{1});
  EXPECT_EQ(sampled->top_logprobs[1].token, TokenId{4});
  EXPECT_EQ(sampled->top_logprobs[2].token, TokenId{2});
}

TEST(Sampler, NonFiniteLogitsFailTheRequest) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    Sampler sampler({});
    const auto sampled = sampler.Sample(std::vector<float>{0.0F, bad}, 0);
    EXPECT_EQ(sampled.status().code(), absl::StatusCode::kDataLoss);
  }
  Sampler sampler({});
  EXPECT_FALSE(sampler.Sample(std::vector<float>{-infinity, -infinity}, 0).ok());
  EXPECT_EQ(sampler.Sample(std::vector<float>{-infinity, 0.0F}, 0)->token, TokenId{1})
      << "a masked token is no damage";
}

TEST(SamplingParams, EachOneOutOfRangeIsNamed) {
  const std::vector<std::pair<SamplingParams, const char*>> cases = {
      {{.temperature = -0.1}, "temperature"},
      {{.temperature = std::nan("")}, "temperature"},
      {{.top_k = -1}, "top_k"},
      {{.top_p = 0.0}, "top_p"},
      {{.top_p = 1.5}, "top_p"},
      {{.min_p = 1.0}, "min_p"},
      {{.repetition_penalty = 0.0}, "repetition_penalty"},
      {{.repetition_penalty = 1e-50}, "repetition_penalty"},
      {{.presence_penalty = 2.1}, "presence_penalty"},
      {{.frequency_penalty = -2.1}, "frequency_penalty"},
      {{.logit_bias = {{TokenId{10}, 1.0F}}}, "logit_bias"},
      {{.logit_bias = {{TokenId{1}, 1000.0F}}}, "logit_bias"},
  };
  for (const auto& [params, name] : cases) {
    const absl::Status status = params.Validate(10);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status;
  }
  EXPECT_TRUE(SamplingParams{}.Validate(10).ok());
}

}  // namespace
}  // namespace stoker::engine
