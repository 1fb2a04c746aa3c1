#include "text/pattern_translation.h"

#include <string>
#include <vector>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/regex.h"

namespace stoker::text {
namespace {

using ::testing::HasSubstr;

// The matches of a published pattern in `text`, one after the other.
std::vector<std::string> Matches(std::string_view pattern, std::string_view text) {
  std::vector<std::string> matches;
  const auto translated = TranslatePattern(pattern);
  EXPECT_TRUE(translated.ok()) << translated.status();
  const auto regex = Regex::Compile(translated.value_or(""));
  EXPECT_TRUE(regex.ok()) << regex.status();
  if (!regex.ok()) return matches;
  Matcher matcher(*regex);
  for (std::size_t at = 0; at < text.size();) {
    const auto match = matcher.Find(text, at);
    EXPECT_TRUE(match.ok()) << match.status();
    if (!match.ok() || !match->has_value()) break;
    matches.emplace_back(text.substr((*match)->begin, (*match)->size()));
    at = (*match)->end;
  }
  return matches;
}

TEST(PatternTranslation, AScriptIsNotItsExtensions) {
  EXPECT_EQ(Matches("\\p{Han}+", "漢、字"), (std::vector<std::string>{"漢", "字"}));
  EXPECT_EQ(Matches("[\\p{Han}x]+", "x漢、"), (std::vector<std::string>{"x漢"}));
}

TEST(PatternTranslation, WhiteSpaceIsUnicodesOwn) {
  // U+180E, which PCRE2's \s takes in, is none.
  EXPECT_EQ(Matches("\\s+", "a \u3000\u180Eb\u0085"),
            (std::vector<std::string>{" \u3000", "\u0085"}));
  EXPECT_EQ(Matches("[^\\S\\n]+", " \t\n "), (std::vector<std::string>{" \t", " "}));
}

TEST(PatternTranslation, LetsThroughWhatPublishedPatternsUse) {
  EXPECT_EQ(
      Matches("(?i:'s|'t)|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+(?!\\S)", "'S1234 !?\n"),
      (std::vector<std::string>{"'S", "123", "4", " !?\n"}));
  EXPECT_EQ(Matches("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+", "]ab{c"),
            (std::vector<std::string>{"]ab", "{c"}));
  EXPECT_EQ(Matches("[一-龥぀-ゟ゠-ヿ]+", "x漢字かなカナ"),
            (std::vector<std::string>{"漢字かなカナ"}));
  EXPECT_EQ(Matches("a+?|(?<=b)c|(?>d++)", "aabcdd"),
            (std::vector<std::string>{"a", "a", "c", "dd"}));
}

TEST(PatternTranslation, NamesWhatHasNoCertainEquivalent) {
  const auto error = [](std::string_view pattern) {
    const auto translated = TranslatePattern(pattern);
    return translated.ok() ? std::string() : std::string(Message(translated.status()));
  };
  EXPECT_THAT(error("ab[x&&y]"), HasSubstr("at byte 4: a set intersection"));
  EXPECT_THAT(error("[a[b]]"), HasSubstr("a class inside a class"));
  EXPECT_THAT(error("[]a]"), HasSubstr("a class that begins with ]"));
  EXPECT_THAT(error("[a"), HasSubstr("a class that does not end"));
  EXPECT_THAT(error("\\w+"), HasSubstr("the escape \\w"));
  EXPECT_THAT(error("a\\b"), HasSubstr("the escape \\b"));
  EXPECT_THAT(error("(a)\\1"), HasSubstr("the escape \\1"));
  EXPECT_THAT(error("a\\"), HasSubstr("a backslash at the end"));
  EXPECT_THAT(error("^a"), HasSubstr("an anchor"));
  EXPECT_THAT(error("a{,3}"), HasSubstr("no repeat count"));
  EXPECT_THAT(error("a{2}+"), HasSubstr("a possessive {n,m}+"));
  EXPECT_THAT(error("(?m:a)"), HasSubstr("the group (?m"));
  EXPECT_THAT(error("(*ACCEPT)"), HasSubstr("the group (*A"));
  EXPECT_THAT(error("\\pL"), HasSubstr("a property without braces"));
  EXPECT_THAT(error("\\p{^Han}"), HasSubstr("the property ^Han"));
}

TEST(Regex, AnUnknownPropertyIsNamedWithItsOffset) {
  const auto regex = Regex::Compile("a\\p{sc:Klingon}");
  EXPECT_THAT(std::string(Message(regex.status())), HasSubstr("at byte"));
}

}  // namespace
}  // namespace stoker::text
