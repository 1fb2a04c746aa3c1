#include "sys/bandwidth.h"

#include "gtest/gtest.h"
#include "sys/topology.h"

namespace stoker::sys {
namespace {

TEST(ReadBandwidth, IsBetweenADiskAndACache) {
  const auto topology = SyntheticTopology("node:1 core:2 pu:1");
  ASSERT_TRUE(topology.ok());
  ThreadPool pool(*topology, {.threads = 2, .pin = false});
  auto reader = ReadBandwidth::Create(pool, std::size_t{64} << 20);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const double bytes_per_s = reader->Measure(2);
  EXPECT_GT(bytes_per_s, 1e7);
  EXPECT_LT(bytes_per_s, 1e13);
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
