#include "cli/chat_line.h"

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

using Kind = ChatLine::Kind;

TEST(ChatLine, CommandsAreTheirNames) {
  EXPECT_EQ(ParseChatLine("/reset").kind, Kind::kReset);
  EXPECT_EQ(ParseChatLine("  /stats  ").kind, Kind::kStats);
  EXPECT_EQ(ParseChatLine("/help").kind, Kind::kHelp);
  EXPECT_EQ(ParseChatLine("/exit").kind, Kind::kExit);
  EXPECT_EQ(ParseChatLine("/quit").kind, Kind::kExit);
}

TEST(ChatLine, AnUnknownCommandIsNoMessage) {
  const ChatLine slip = ParseChatLine("/rest");
  EXPECT_EQ(slip.kind, Kind::kUnknown);
  EXPECT_EQ(slip.text, "no command /rest; did you mean /reset?");
  EXPECT_EQ(ParseChatLine("/frobnicate now").text, "no command /frobnicate; see /help");
}

TEST(ChatLine, TextIsAMessage) {
  EXPECT_EQ(ParseChatLine(" hello there ").text, "hello there");
  EXPECT_EQ(ParseChatLine("/etc/hosts is a file").kind, Kind::kMessage);
  EXPECT_EQ(ParseChatLine("/").kind, Kind::kMessage);
  EXPECT_EQ(ParseChatLine("what does /reset do").kind, Kind::kMessage);
}

TEST(ChatLine, AnEmptyLineAsksForNothing) {
  EXPECT_EQ(ParseChatLine("").kind, Kind::kNothing);
  EXPECT_EQ(ParseChatLine(" \t").kind, Kind::kNothing);
}

}  // namespace
}  // namespace stoker::cli
