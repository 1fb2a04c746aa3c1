#include "cli/options.h"

#include <CLI/CLI.hpp>
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
  CLI::App app;
  Options options(app);
  std::optional<double> given;
  std::optional<double> not_given;
  std::size_t kept = 7;
  options.Value("--given", "X", given, "");
  options.Value("--not-given", "X", not_given, "");
  options.Value("--kept", "N", kept, "");
  app.parse(std::vector<std::string>{"2", "--given"});
  EXPECT_EQ(given, 2.0);
  EXPECT_EQ(not_given, std::nullopt);
  EXPECT_EQ(kept, 7U);
}

}  // namespace
}  // namespace stoker::cli
