#include "cli/console.h"

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

TEST(Console, AnAnswerCannotDriveTheTerminal) {
  EXPECT_EQ(TerminalSafe("\x1b[31mred\r\n\tx\x7F"), "\xE2\x90\x9B[31mred\n\tx\xE2\x90\xA1");
  // U+009B begins a sequence too, in eight bits.
  EXPECT_EQ(TerminalSafe("\xC2\x9B"
                         "31m\xC2\xA0\xC3\xA9"),
            "\xEF\xBF\xBD"
            "31m\xC2\xA0\xC3\xA9");
  EXPECT_EQ(TerminalSafe("a\x9Bz"), "a\xEF\xBF\xBDz");
}

TEST(Console, WrapBreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrap("unbreakable", 4, 2), "unbreakable");
  EXPECT_EQ(Wrap("", 4, 2), "");
}

}  // namespace
}  // namespace stoker::cli
