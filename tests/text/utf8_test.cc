#include "text/utf8.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace stoker::text {
namespace {

std::string Lossy(std::string_view text) {
  std::string out;
  if (AppendLossyUtf8(text, out) != 0) out += "|";  // marks a truncated tail
  return out;
}

TEST(Utf8, FindsTheFirstByteThatIsNoCharacter) {
  EXPECT_EQ(FindInvalidUtf8(""), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("plain text of more than eight bytes"), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("é漢🔥\xF4\x8F\xBF\xBF"), std::nullopt);
  const std::vector<std::pair<std::string, std::size_t>> bad = {
      {"\x80", 0},
      {"abc\xC0\x80", 3},              // overlong
      {"0123456789\xE0\x9F\xBF", 10},  // overlong
      {"é\xED\xA0\x80", 2},            // a surrogate
      {"\xF4\x90\x80\x80", 0},         // beyond U+10FFFF
      {"\xF0\x80\x80\x80", 0},         // overlong
      {"漢\xE6\xBC", 3},               // truncated
      {"\xFF", 0},
  };
  for (const auto& [text, offset] : bad) EXPECT_EQ(FindInvalidUtf8(text), offset);
}

TEST(Utf8, OneReplacementStandsForEachMaximalSubpart) {
  // The Unicode Standard's own example, table 3-11.
  EXPECT_EQ(Lossy("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(Lossy("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8, ATruncatedTailIsLeftForLater) {
  EXPECT_EQ(Lossy("a\xF0\x9F\x94"), "a|");
  EXPECT_EQ(Lossy("a\xE6"), "a|");
  std::string out;
  EXPECT_EQ(AppendLossyUtf8("a\xF0\x9F\x94", out), 3U);
  EXPECT_EQ(Lossy("a\xF0\x9F!"), "a\uFFFD!");
}

}  // namespace
}  // namespace stoker::text
