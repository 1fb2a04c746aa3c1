#include "cli/sampling_options.h"

#include <string>
#include <vector>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

TEST(SamplingOptions, WhatTheUserAsksComesBeforeWhatTheModelRecommends) {
  const SamplingOptions recommended = {.temperature = 0.3, .top_k = 40, .top_p = 0.8};
  const auto params =
      ResolveSampling({.temperature = 0.9, .top_p = 0.5}, recommended, false, 7).value();
  EXPECT_EQ(params.temperature, 0.9);
  EXPECT_EQ(params.top_p, 0.5);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_EQ(params.seed, 7U);
}

TEST(SamplingOptions, ThinkingIsWarmerThanAnsweringAtOnce) {
  EXPECT_EQ(ResolveSampling({}, {}, true, 0)->temperature, 1.0);
  EXPECT_EQ(ResolveSampling({}, {}, false, 0)->temperature, 0.6);
}

TEST(SamplingOptions, GreedyBeatsARecommendedTemperature) {
  EXPECT_EQ(ResolveSampling({.greedy = true}, {.temperature = 0.7}, false, 0)->temperature, 0.0);
}

TEST(SamplingOptions, BiasesNameATokenAndANumber) {
  const auto params = ResolveSampling({.logit_bias = {"198=-5", "7=2.5"}}, {}, false, 0).value();
  EXPECT_THAT(params.logit_bias,
              testing::ElementsAre(std::pair{TokenId{198}, -5.0F}, std::pair{TokenId{7}, 2.5F}));
  for (const char* bad : {"198", "x=1", "-1=1", "1=x", "4294967296=1", "="}) {
    EXPECT_FALSE(CheckSampling({.logit_bias = {bad}}).ok()) << bad;
  }
}

TEST(SamplingOptions, ValuesOutOfRangeAreRefusedBeforeAnythingIsLoaded) {
  EXPECT_FALSE(CheckSampling({.temperature = -1.0}).ok());
  EXPECT_FALSE(CheckSampling({.top_p = 0.0}).ok());
  EXPECT_FALSE(CheckSampling({.logprobs = -1}).ok());
  EXPECT_FALSE(CheckSampling({.temperature = 0.7, .greedy = true}).ok());
  EXPECT_FALSE(CheckSampling({.max_tokens = 0}).ok());
  EXPECT_FALSE(CheckSampling({.stops = {""}}).ok());
  EXPECT_FALSE(CheckSampling({.stops = std::vector<std::string>(65, "x")}).ok());
  EXPECT_TRUE(CheckSampling({.max_tokens = 1, .stops = {"x"}}).ok());
  EXPECT_TRUE(CheckSampling({}).ok());
}

TEST(SamplingOptions, ErrorsNameTheOption) {
  const auto message = [](const SamplingOptions& asked) {
    return std::string(Message(CheckSampling(asked)));
  };
  EXPECT_THAT(message({.top_p = 2.0}), testing::StartsWith("--top-p is 2"));
  EXPECT_THAT(message({.repetition_penalty = 0.0}),
              testing::StartsWith("--repetition-penalty is 0"));
  EXPECT_THAT(message({.logit_bias = {"1=1000"}}), testing::StartsWith("--logit-bias of token 1"));
  EXPECT_THAT(message({.stops = {""}}), testing::StartsWith("--stop: "));
  const auto params = ResolveSampling({.logit_bias = {"100=1"}}, {}, false, 0);
  EXPECT_TRUE(CheckParams(*params, 101).ok());
  EXPECT_THAT(std::string(Message(CheckParams(*params, 100))),
              testing::StartsWith("--logit-bias names token 100"));
}

TEST(SamplingOptions, AModelsFileIsRead) {
  const auto read = ParseRecommendedSampling(
      R"({"temperature": 0.6, "top_p": 0.95, "top_k": 20, "eos_token_id": 1})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->temperature, 0.6);
  EXPECT_EQ(read->top_k, 20);
  EXPECT_EQ(ParseRecommendedSampling(R"({"do_sample": false})")->temperature, 0.0);
}

TEST(SamplingOptions, ADamagedFileIsNamed) {
  for (const char* bad : {"{", "[]", R"({"temperature": "hot"})", R"({"top_k": 0.9})",
                          R"({"top_k": 1e300})", R"({"top_k": 18446744073709551615})",
                          R"({"top_k": -1})", R"({"top_p": 1e300})", R"({"temperature": -1})"}) {
    const auto read = ParseRecommendedSampling(bad);
    EXPECT_THAT(std::string(Message(read.status())),
                testing::StartsWith("generation_config.json: "));
  }
}

}  // namespace
}  // namespace stoker::cli
