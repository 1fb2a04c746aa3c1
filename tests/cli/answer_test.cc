#include "cli/answer.h"

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

}  // namespace
}  // namespace stoker::cli
