#include "sys/memory.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace stoker::sys {
namespace {

TEST(HugeBuffer, IsZeroedAlignedAndWritable) {
  auto buffer = HugeBuffer::Allocate(5 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  const auto bytes = buffer->bytes();
  EXPECT_EQ(bytes.size(), std::size_t{5} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (2 << 20), 0U);
  EXPECT_EQ(bytes.front(), std::byte{0});
  bytes.back() = std::byte{7};
  EXPECT_EQ(bytes.back(), std::byte{7});
}

TEST(HugeBuffer, AbsurdSizesAreErrors) {
  EXPECT_FALSE(HugeBuffer::Allocate(std::size_t{1} << 62).ok());
  EXPECT_FALSE(HugeBuffer::Allocate(std::numeric_limits<std::size_t>::max()).ok());
}

TEST(Memory, TheMachineSaysHowMuchIsLeft) {
  EXPECT_GT(AvailableMemoryBytes().value_or(0), 1U << 20);
}

/// A system's /proc and /sys in a folder of the test's.
class FakeSystem {
 public:
  explicit FakeSystem(const std::string& name)
      : root_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::remove_all(root_);
    Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   8000 kB\n");
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] std::optional<std::uint64_t> Available() const {
    return AvailableMemoryBytes(root_.string());
  }

 private:
  std::filesystem::path root_;
};

TEST(Memory, NothingIsKnownWhereTheSystemTellsNothing) {
  EXPECT_EQ(AvailableMemoryBytes("/nonexistent"), std::nullopt);
}

TEST(Memory, WithoutLimitsTheKernelsEstimateHolds) {
  EXPECT_EQ(FakeSystem("no_limits").Available(), 8000U * 1024);
}

TEST(Memory, AContainersRootGroupLimitsIt) {
  const FakeSystem system("container");
  system.Write("proc/self/cgroup", "0::/\n");
  system.Write("sys/fs/cgroup/memory.max", "1000000\n");
  system.Write("sys/fs/cgroup/memory.current", "700000\n");
  system.Write("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 100000\n");
  EXPECT_EQ(system.Available(), 400000U);
}

TEST(Memory, TheTightestGroupOnThePathCounts) {
  const FakeSystem system("nested");
  system.Write("proc/self/cgroup", "0::/outer/inner\n");
  system.Write("sys/fs/cgroup/outer/memory.max", "50000\n");
  system.Write("sys/fs/cgroup/outer/memory.current", "20000\n");
  system.Write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(system.Available(), 30000U);
}

TEST(Memory, AGroupAtItsLimitLeavesNothing) {
  const FakeSystem system("full");
  system.Write("proc/self/cgroup", "0::/\n");
  system.Write("sys/fs/cgroup/memory.max", "1000\n");
  system.Write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(system.Available(), 0U);
}

TEST(Memory, VersionOneGroupsLimitToo) {
  const FakeSystem system("version_one");
  system.Write("proc/self/cgroup", "9:name=systemd:/\n7:cpu,memory:/job\n");
  system.Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "60000\n");
  system.Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "25000\n");
  system.Write("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 5000\n");
  EXPECT_EQ(system.Available(), 40000U);
}

}  // namespace
}  // namespace stoker::sys
