#include "base/units.h"

#include "gtest/gtest.h"

namespace stoker {
namespace {

TEST(Units, NumbersPrintWithThreeOrFourDigits) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(24'772'608), "24.77 MB");
  EXPECT_EQ(FormatBytes(594'000'000'000), "594.0 GB");
  EXPECT_EQ(FormatCount(1'026'000'000'000), "1.03 T");
}

}  // namespace
}  // namespace stoker
