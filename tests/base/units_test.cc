#include "base/units.h"

#include "gtest/gtest.h"

namespace stoker {
namespace {

TEST(Units, BytesReadInEverySpelling) {
  EXPECT_EQ(*ParseBytes("4096"), 4096U);
  EXPECT_EQ(*ParseBytes("5GiB"), 5ULL << 30);
  EXPECT_EQ(*ParseBytes("5g"), 5ULL << 30);
  EXPECT_EQ(*ParseBytes(" 512 MB "), 512'000'000U);
  EXPECT_EQ(*ParseBytes("1.5k"), 1536U);
}

TEST(Units, NonsenseIsNamedInTheError) {
  for (const char* text : {"", "GiB", "-1", "1e400", "5 parsecs", "nan", "99999999999g"}) {
    const auto parsed = ParseBytes(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("is not a size"), std::string::npos) << text;
  }
}

TEST(Units, NumbersPrintWithThreeOrFourDigits) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(24'772'608), "24.77 MB");
  EXPECT_EQ(FormatBytes(594'000'000'000), "594.0 GB");
  EXPECT_EQ(FormatCount(1'026'000'000'000), "1.03 T");
}

}  // namespace
}  // namespace stoker
