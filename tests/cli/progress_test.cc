#include "cli/progress.h"

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

ProgressState Half() {
  return {.label = "loading",
          .unit = ProgressUnit::kBytes,
          .done = 2'000'000'000,
          .total = 4'000'000'000,
          .seconds = 2.0};
}

TEST(Progress, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(RenderProgress(Half(), 80),
            "loading [===============>              ]  50%  1.00 GB/s  2 s left");
}

TEST(Progress, ANarrowTerminalLosesTheBarFirst) {
  EXPECT_EQ(RenderProgress(Half(), 36), "loading  50%  1.00 GB/s  2 s left");
  EXPECT_EQ(RenderProgress(Half(), 10), "loading  5");
}

TEST(Progress, NothingKnownYetIsNoDivisionByZero) {
  const ProgressState state = {.label = "reading", .unit = ProgressUnit::kTokens};
  EXPECT_EQ(RenderProgress(state, 20), "reading [>    ]   0%");
}

TEST(Progress, NothingIsLeftAtTheEnd) {
  ProgressState state = Half();
  state.done = state.total;
  EXPECT_EQ(RenderProgress(state, 80), "loading [==============================] 100%  2.00 GB/s");
}

}  // namespace
}  // namespace stoker::cli
