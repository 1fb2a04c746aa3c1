#include "base/printable.h"

#include <string>

#include "gtest/gtest.h"

namespace stoker {
namespace {

TEST(Printable, AMessageStaysOnOneLine) {
  EXPECT_EQ(OneLine("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(OneLine("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(OneLine("caf\xC3\xA9 \xE4\xB8\x96"), "caf\xC3\xA9 \xE4\xB8\x96");
  EXPECT_EQ(OneLine("\xC2\x9B\xC2\xA0"), "\\x9b\xC2\xA0");
}

TEST(Printable, BytesThatAreNoCharacterAreShownAsNumbers) {
  EXPECT_EQ(OneLine("/tmp/\xFF"), "/tmp/\\xff");
  // Cut short, overlong, a surrogate, beyond U+10FFFF, a continuation that continues nothing.
  EXPECT_EQ(OneLine("\xE4\xB8"), "\\xe4\\xb8");
  EXPECT_EQ(OneLine("\xC0\x80"), "\\xc0\\x80");
  EXPECT_EQ(OneLine("\xE0\x80\x80"), "\\xe0\\x80\\x80");
  EXPECT_EQ(OneLine("\xF0\x80\x80\x80"), "\\xf0\\x80\\x80\\x80");
  EXPECT_EQ(OneLine("\xED\xA0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(OneLine("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(OneLine("\x80"), "\\x80");
  EXPECT_EQ(OneLine("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
}

TEST(Printable, AVeryLongLineLosesItsMiddle) {
  EXPECT_EQ(OneLine(std::string(2000, 'x')), std::string(2000, 'x'));
  const std::string line = OneLine("begins" + std::string(1'000'000, 'x') + "ends");
  EXPECT_EQ(line.size(), 2000U);
  EXPECT_TRUE(line.starts_with("begins"));
  EXPECT_TRUE(line.ends_with("ends"));
  EXPECT_NE(line.find(" ... "), std::string::npos);
  for (const char* shift : {"", "a", "ab"}) {
    std::string characters = shift;
    for (int i = 0; i < 1000; ++i) characters += "\xE4\xB8\x96";
    const std::string cut = OneLine(characters);
    EXPECT_EQ(OneLine(cut), cut) << "cut inside a character";
  }
}

}  // namespace
}  // namespace stoker
