#include "cli/console.h"

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

TEST(Console, AMessageStaysOnOneLine) {
  EXPECT_EQ(OneLine("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(OneLine("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(OneLine("caf\xC3\xA9 \xE4\xB8\x96"), "caf\xC3\xA9 \xE4\xB8\x96");
  EXPECT_EQ(OneLine("\xC2\x9B"), "\\x9b");
}

TEST(Console, AnAnswerCannotDriveTheTerminal) {
  EXPECT_EQ(TerminalSafe("\x1b[31mred\r\n\tx\x7F"), "\xE2\x90\x9B[31mred\n\tx\xE2\x90\xA1");
}

TEST(Console, WrapBreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrap("unbreakable", 4, 2), "unbreakable");
  EXPECT_EQ(Wrap("", 4, 2), "");
}

}  // namespace
}  // namespace stoker::cli
