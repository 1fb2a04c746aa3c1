#include "cli/interrupt.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

class Interrupt : public ::testing::Test {
 protected:
  void SetUp() override {
    CatchInterrupts({});
    TakeInterrupt();
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
    signal(SIGINT, SIG_DFL);
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
