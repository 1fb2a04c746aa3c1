#include "cli/options.h"

#include <optional>

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

template <typename T>
std::optional<T> Parsed(const std::string& text) {
  T value{};
  return ParseValue(text, value).ok() ? std::optional<T>(value) : std::nullopt;
}

TEST(Options, WholeNumbersAreReadWhole) {
  EXPECT_EQ(Parsed<std::uint64_t>("12"), 12U);
  EXPECT_EQ(Parsed<std::int64_t>("-12"), -12);
  for (const char* bad : {"", "-1", "1.5", "12x", " 1", "99999999999999999999"}) {
    EXPECT_EQ(Parsed<std::uint64_t>(bad), std::nullopt) << bad;
  }
}

TEST(Options, NumbersMustBeFinite) {
  EXPECT_EQ(Parsed<double>("0.7"), 0.7);
  EXPECT_EQ(Parsed<double>("-1e-3"), -1e-3);
  for (const char* bad : {"", "nan", "inf", "1,5", "x"}) {
    EXPECT_EQ(Parsed<double>(bad), std::nullopt) << bad;
  }
}

TEST(Options, AListIsOfNumbersAboveZero) {
  using List = std::vector<std::size_t>;
  EXPECT_EQ(Parsed<List>("1,2,16"), (List{1, 2, 16}));
  for (const char* bad : {"", "1,", "0", "1,0", "a", "1;2"}) {
    EXPECT_EQ(Parsed<List>(bad), std::nullopt) << bad;
  }
}

TEST(Options, WhatWasNotGivenStaysUnset) {
  std::optional<double> value;
  ASSERT_TRUE(ParseValue("2", value).ok());
  EXPECT_EQ(value, 2.0);
}

}  // namespace
}  // namespace stoker::cli
