#include "cli/answer.h"

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/load_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

engine::TextDelta Thinks(const std::string& text) {
  return {.thinking = text, .answer = {}};
}

engine::TextDelta Says(const std::string& text) {
  return {.thinking = {}, .answer = text};
}

TEST(AnswerFormat, APipeGetsTheAnswerAlone) {
  AnswerFormat format(Show::kAnswer, false);
  EXPECT_EQ(format.Text(Thinks("hm")), "");
  EXPECT_EQ(format.Text(Says("yes\x1b")), "yes\x1b");
  EXPECT_EQ(format.End(), "\n");
}

TEST(AnswerFormat, ATerminalShowsThinkingDimmedAndApart) {
  AnswerFormat format(Show::kTerminal, true);
  EXPECT_EQ(format.Text(Thinks("h")), "\x1b[2mh");
  EXPECT_EQ(format.Text(Thinks("m")), "m");
  EXPECT_EQ(format.Text(Says("yes")), "\x1b[0m\n\nyes");
  EXPECT_EQ(format.End(), "\n");
}

TEST(AnswerFormat, WithoutColourThinkingIsStillApart) {
  AnswerFormat format(Show::kTerminal, false);
  EXPECT_EQ(format.Text({.thinking = "hm", .answer = "yes"}), "hm\n\nyes");
}

TEST(AnswerFormat, AnAnswerCutOffInItsThinkingLeavesNoColourBehind) {
  AnswerFormat format(Show::kTerminal, true);
  format.Text(Thinks("hm"));
  EXPECT_EQ(format.End(), "\x1b[0m\n");
}

TEST(AnswerFormat, TextThatEndsInANewlineNeedsNoOther) {
  AnswerFormat format(Show::kAnswer, false);
  format.Text(Says("yes\n"));
  EXPECT_EQ(format.End(), "");
}

TEST(AnswerFormat, JsonIsPrintedWhenItIsWhole) {
  EXPECT_EQ(ShowFor({.output_is_terminal = true}, true), Show::kNothing);
  AnswerFormat format(Show::kNothing, true);
  EXPECT_EQ(format.Text(Says("yes")) + format.End(), "");
}

TEST(CheckRequest, SaysWhatIsWrongBeforeAModelIsLoaded) {
  checkpoint::ModelConfig config;
  config.vocab = 10;
  config.max_positions = 100;
  const auto check = [&config](const AnswerRequest& request) {
    return std::string(Message(CheckRequest(request, config, 4)));
  };
  EXPECT_EQ(check({.prompt = {TokenId{0}, TokenId{9}, TokenId{1}}}), "");
  EXPECT_THAT(check({.prompt = std::vector<TokenId>(4)}),
              testing::HasSubstr("4 tokens and the context is 4"));
  EXPECT_THAT(check({.prompt = {TokenId{10}}}), testing::HasSubstr("token 10"));
  EXPECT_THAT(check({.prompt = {TokenId{1}}, .sampling = {.logit_bias = {{TokenId{10}, 1.0F}}}}),
              testing::HasSubstr("--logit-bias names token 10"));
}

TEST(ContextTokens, IsTheUsersWithinTheModels) {
  checkpoint::ModelConfig config;
  config.max_positions = 100'000;
  EXPECT_EQ(ContextTokens({}, config).value(), engine::kDefaultContext);
  EXPECT_EQ(ContextTokens({.context_tokens = 100'000}, config).value(), 100'000U);
  EXPECT_THAT(std::string(Message(ContextTokens({.context_tokens = 100'001}, config).status())),
              testing::HasSubstr("--context 100001"));
  config.max_positions = 10;
  EXPECT_EQ(ContextTokens({}, config).value(), 10U);
}

}  // namespace
}  // namespace stoker::cli
