#include "sys/memory.h"

#include <cstdint>
#include <limits>

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
  EXPECT_GT(AvailableMemoryBytes(), 1U << 20);
  EXPECT_GT(ResidentBytes(), 1U << 20);
}

}  // namespace
}  // namespace stoker::sys
