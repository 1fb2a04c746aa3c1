#include "engine/text_stream.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/byte_tokenizer.h"

namespace stoker::engine {
namespace {

TextStream NewStream(TextStreamOptions options) {
  return TextStream::Create(testing::ByteTokenizer(), std::move(options)).value();
}

std::vector<TokenId> Tokens(std::string_view text) {
  return testing::ByteTokenizer().Encode(text, {.parse_special = true}).value();
}

// What the tokens of `text` come to, and each piece on the way.
TextDelta Stream(TextStream& stream, std::string_view text) {
  TextDelta all;
  for (const TokenId token : Tokens(text)) all += stream.Push(token);
  return all += stream.Flush();
}

TEST(TextStream, PlainTextComesOutWhole) {
  TextStream stream = NewStream({});
  const TextDelta text = Stream(stream, "Grüße, 世界 🔥");
  EXPECT_EQ(text.answer, "Grüße, 世界 🔥");
  EXPECT_EQ(text.thinking, "");
}

TEST(TextStream, NoPieceEndsInsideACharacter) {
  TextStream stream = NewStream({});
  for (const TokenId token : Tokens("🔥")) {
    const std::string piece = stream.Push(token).answer;
    EXPECT_TRUE(piece.empty() || piece == "🔥") << piece;
  }
}

TEST(TextStream, ThinkingIsPartedFromTheAnswerWithoutItsMarkers) {
  TextStream stream = NewStream({});
  const TextDelta text = Stream(stream, "<think>hm</think>yes");
  EXPECT_EQ(text.thinking, "hm");
  EXPECT_EQ(text.answer, "yes");
  EXPECT_FALSE(stream.is_thinking());
}

TEST(TextStream, APromptThatOpenedThinkingLeavesTheAnswerToCloseIt) {
  TextStream stream = NewStream({.starts_thinking = true});
  EXPECT_TRUE(stream.is_thinking());
  const TextDelta text = Stream(stream, "hm</think>yes");
  EXPECT_EQ(text.thinking, "hm");
  EXPECT_EQ(text.answer, "yes");
}

TEST(TextStream, AToolCallEndsThinkingThatWasNeverClosed) {
  TextStream stream = NewStream({.starts_thinking = true});
  const TextDelta text = Stream(stream, "hm<|tool_calls_section_begin|>x");
  EXPECT_EQ(text.thinking, "hm");
  EXPECT_EQ(text.answer, "<|tool_calls_section_begin|>x");
}

TEST(TextStream, MarkersAreTextWhereThinkingIsNotSplit) {
  TextStream stream = NewStream({.splits_thinking = false});
  EXPECT_EQ(Stream(stream, "<think>a</think>").answer, "<think>a</think>");
}

TEST(TextStream, AStopStringEndsTheAnswerAndIsNotPartOfIt) {
  TextStream stream = NewStream({.stops = {"END"}});
  const TextDelta text = Stream(stream, "one ENtwo END three");
  EXPECT_EQ(text.answer, "one ENtwo ");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, AStopStringInsideThinkingStopsNothing) {
  TextStream stream = NewStream({.stops = {"END"}, .starts_thinking = true});
  const TextDelta text = Stream(stream, "END</think>ok");
  EXPECT_EQ(text.thinking, "END");
  EXPECT_EQ(text.answer, "ok");
}

TEST(TextStream, TextHeldBackForAStopStringComesAtTheEnd) {
  TextStream stream = NewStream({.stops = {"END"}});
  EXPECT_EQ(Stream(stream, "one EN").answer, "one EN");
}

TEST(TextStream, AnEmptyStopStringIsRefused) {
  EXPECT_FALSE(TextStream::Create(testing::ByteTokenizer(), {.stops = {""}}).ok());
}

}  // namespace
}  // namespace stoker::engine
