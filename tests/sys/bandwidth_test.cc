#include "sys/bandwidth.h"

#include <chrono>

#include "gtest/gtest.h"
#include "sys/topology.h"

namespace stoker::sys {
namespace {

TEST(ReadBandwidth, IsWhatTheClockOutsideSays) {
  const auto topology = SyntheticTopology("node:1 core:2 pu:1");
  ASSERT_TRUE(topology.ok());
  ThreadPool pool(*topology, {.threads = 2, .pin = false});
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kPasses = 2;
  auto reader = ReadBandwidth::Create(pool, kBytes);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto start = std::chrono::steady_clock::now();
  const double bytes_per_s = reader->Measure(kPasses);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  // Each pass reads the buffer in three ways; the best of them beats the mean of all.
  const double mean = 3.0 * kPasses * kBytes / elapsed.count();
  EXPECT_GE(bytes_per_s, mean);
  EXPECT_LT(bytes_per_s, 100.0 * mean);
}

TEST(ReadBandwidth, MoreThanTheMachineHasIsRefused) {
  const auto topology = SyntheticTopology("node:1 core:1 pu:1");
  ASSERT_TRUE(topology.ok());
  ThreadPool pool(*topology, {.threads = 1, .pin = false});
  const auto reader = ReadBandwidth::Create(pool, std::size_t{1} << 46);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace stoker::sys
