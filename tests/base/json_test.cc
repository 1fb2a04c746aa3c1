#include "base/json.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace stoker {
namespace {

TEST(Json, ReadsADocument) {
  const auto value = ParseJson(R"({"a": [1, "}]"]})");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)["a"][1], "}]");
}

TEST(Json, MalformedTextIsAnErrorThatSaysWhere) {
  const auto value = ParseJson("{\"a\": 1,\n \"b\" 2}");
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.status().message().find("line 2"), std::string::npos) << value.status();
}

TEST(Json, AnErrorDoesNotQuoteMegabytes) {
  for (const char* start : {"\"", "[1, \"", "{\"a\": \"", "1"}) {
    const auto value = ParseJson(start + std::string(1'000'000, 'x'));
    ASSERT_FALSE(value.ok());
    EXPECT_LT(value.status().message().size(), 300U) << start;
    EXPECT_NE(value.status().message().find("line 1"), std::string::npos) << value.status();
  }
}

TEST(Json, BytesThatAreNoTextAreReplacedWhenWritten) {
  EXPECT_EQ(DumpJson({{"path", "/tmp/\xff"}, {"n", 1}}),
            "{\"path\":\"/tmp/\xEF\xBF\xBD\",\"n\":1}");
}

TEST(Json, AKeyThatStandsTwiceIsRefused) {
  const auto value = ParseJson(R"({"a": {"n": 1}, "b": [{"n": 1, "m": 2, "n": 3}]})");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().message(), "the key \"n\" stands twice in one JSON object");
  EXPECT_TRUE(ParseJson(R"({"a": {"n": 1}, "b": {"n": 1}, "n": {"a": 1}})").ok());
}

TEST(Json, DeepNestingIsRefusedBeforeItIsBuilt) {
  EXPECT_FALSE(ParseJson(std::string(10'000'000, '[')).ok());
  EXPECT_FALSE(ParseJson(std::string(201, '[') + std::string(201, ']')).ok());
  EXPECT_TRUE(ParseJson(std::string(200, '[') + std::string(200, ']')).ok());
}

TEST(Json, InvalidUtf8AndTrailingTextAreRefused) {
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson("{} {}").ok());
  EXPECT_FALSE(ParseJson("").ok());
}

}  // namespace
}  // namespace stoker
