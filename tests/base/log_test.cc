#include "base/log.h"

#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace stoker {
namespace {

TEST(Log, AMessageIsOneLineThatDrivesNoTerminal) {
  ASSERT_TRUE(SetUpLogging("info").ok());
  testing::internal::CaptureStderr();
  spdlog::info("left out {}", "\x1b[2J\na");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info: left out \\x1b[2J\\x0aa\n");
}

TEST(Log, AnUnknownLevelIsRefused) {
  EXPECT_FALSE(SetUpLogging("inof").ok());
}

}  // namespace
}  // namespace stoker
