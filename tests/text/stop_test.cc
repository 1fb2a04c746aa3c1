#include "text/stop.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace stoker::text {
namespace {

StopMatcher Make(const std::vector<std::string>& stops) {
  auto matcher = StopMatcher::Create(stops);
  EXPECT_TRUE(matcher.ok()) << matcher.status();
  return *std::move(matcher);
}

// All that comes out when `text` is pushed in chunks of the given sizes, the last one repeated.
std::string Chunked(StopMatcher matcher, std::string_view text,
                    const std::vector<std::size_t>& sizes) {
  std::string out;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::size_t size = sizes[std::min(i, sizes.size() - 1)];
    out += matcher.Push(text.substr(0, size)).text;
    text.remove_prefix(std::min(size, text.size()));
  }
  return out + matcher.Flush();
}

TEST(Stop, TheStopStringAndWhatFollowsAreLeftOut) {
  StopMatcher matcher = Make({"END"});
  const StopMatcher::Output output = matcher.Push("one END two");
  EXPECT_EQ(output.text, "one ");
  EXPECT_TRUE(output.stopped);
  EXPECT_EQ(matcher.Push("three").text, "");
  EXPECT_TRUE(matcher.Push("three").stopped);
  EXPECT_EQ(matcher.Flush(), "");
}

TEST(Stop, APossibleStartIsHeldBackUntilItIsClear) {
  StopMatcher matcher = Make({"\n\nUser:"});
  EXPECT_EQ(matcher.Push("a\n").text, "a");
  EXPECT_EQ(matcher.Push("\n").text, "");
  EXPECT_EQ(matcher.Push("Us").text, "");
  EXPECT_EQ(matcher.Push("ual\n").text, "\n\nUsual");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.Flush(), "\n");
}

TEST(Stop, AHeldPrefixThatRepeatsIsNotMissed) {
  EXPECT_EQ(Chunked(Make({"aab"}), "xaaab", {1}), "xa");
  EXPECT_EQ(Chunked(Make({"ababc"}), "abababc!", {3, 1}), "ab");
}

TEST(Stop, TheFirstToBeCompleteWinsAndOfTwoAtOnceTheLongest) {
  EXPECT_EQ(Chunked(Make({"abcd", "bc"}), "xabcd", {5}), "xa");
  StopMatcher matcher = Make({"c", "abc"});
  EXPECT_EQ(matcher.Push("xabc").text, "x");
}

TEST(Stop, WithoutStopStringsTextPassesAtOnce) {
  StopMatcher matcher = Make({});
  EXPECT_EQ(matcher.Push("anything").text, "anything");
  EXPECT_FALSE(matcher.stopped());
}

TEST(Stop, AWholeCharacterGoesOutAtATime) {
  StopMatcher matcher = Make({"日本"});
  EXPECT_EQ(matcher.Push("明日").text, "明");
  EXPECT_EQ(matcher.Push("は").text, "日は");
}

TEST(Stop, UnusableStopStringsAreRefused) {
  EXPECT_FALSE(StopMatcher::Create({""}).ok());
  EXPECT_FALSE(StopMatcher::Create({"\xff"}).ok());
  EXPECT_FALSE(StopMatcher::Create({std::string(5000, 'a')}).ok());
  EXPECT_FALSE(StopMatcher::Create(std::vector<std::string>(65, "a")).ok());
}

TEST(Stop, ChunksDoNotChangeTheResult) {
  std::mt19937 random(7);
  const auto letters = [&](std::size_t longest) {
    std::string text(1 + random() % longest, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    const StopMatcher matcher = Make({letters(6), letters(6)});
    const std::string text = letters(40);
    const std::string whole = Chunked(matcher, text, {text.size()});
    EXPECT_EQ(Chunked(matcher, text, {1}), whole) << text;
    EXPECT_EQ(Chunked(matcher, text, {1 + random() % 5, 1 + random() % 5, 2}), whole) << text;
  }
}

}  // namespace
}  // namespace stoker::text
