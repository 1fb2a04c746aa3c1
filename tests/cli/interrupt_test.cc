#include "cli/interrupt.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

class Interrupt : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
    CatchInterrupts({});
    TakeInterrupt();
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  }

  int pipe_[2] = {-1, -1};
};

TEST_F(Interrupt, OnePressedBeforeTheWaitIsNotLost) {
  std::raise(SIGINT);
  EXPECT_FALSE(WaitForInput(pipe_[0]));
  EXPECT_TRUE(TakeInterrupt());
  EXPECT_FALSE(TakeInterrupt());
}

TEST_F(Interrupt, OnePressedDuringTheWaitEndsIt) {
  const pthread_t waiting = pthread_self();
  std::thread presser([waiting] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pthread_kill(waiting, SIGINT);
  });
  EXPECT_FALSE(WaitForInput(pipe_[0]));
  presser.join();
  EXPECT_TRUE(TakeInterrupt());
}

TEST_F(Interrupt, TheExitCodeIsThatOfTheSignal) {
  for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
    std::raise(number);
    EXPECT_TRUE(InterruptFlag().load());
    EXPECT_FALSE(WaitForInput(pipe_[0]));
    EXPECT_TRUE(TakeInterrupt());
    EXPECT_EQ(InterruptExitCode(), 128 + number);
  }
}

TEST_F(Interrupt, ControlCStopsTheWorkAndTheOthersEndTheProgram) {
  std::raise(SIGINT);
  TakeInterrupt();
  const bool after_control_c = IsToldToLeave();
  std::raise(SIGTERM);
  TakeInterrupt();
  EXPECT_TRUE(IsToldToLeave()) << "also after the flag is taken";
  EXPECT_FALSE(after_control_c);
}

TEST_F(Interrupt, OneThatIsNotHeededForLongIsExplained) {
  CatchInterrupts({.error_is_terminal = true});
  testing::internal::CaptureStderr();
  std::raise(SIGINT);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2300)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("press Ctrl-C again"), std::string::npos);
  EXPECT_EXIT(std::raise(SIGINT), testing::ExitedWithCode(128 + SIGINT), "");
  TakeInterrupt();
}

TEST_F(Interrupt, WhatTheParentIgnoresStaysIgnored) {
  signal(SIGHUP, SIG_IGN);
  CatchInterrupts({});
  std::raise(SIGHUP);
  EXPECT_FALSE(TakeInterrupt());
}

TEST_F(Interrupt, ASecondOneThatNobodyTookNoteOfEndsTheProgram) {
  EXPECT_EXIT(
      {
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST_F(Interrupt, InputAndItsEndEndTheWait) {
  ASSERT_EQ(write(pipe_[1], "x", 1), 1);
  EXPECT_TRUE(WaitForInput(pipe_[0]));
  char byte = 0;
  ASSERT_EQ(read(pipe_[0], &byte, 1), 1);
  close(pipe_[1]);
  EXPECT_TRUE(WaitForInput(pipe_[0]));
}

}  // namespace
}  // namespace stoker::cli
