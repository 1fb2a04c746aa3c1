#include "checkpoint/shard_index.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectRefused(const std::string& text, const std::string& part) {
  const auto index = ParseShardIndex(text);
  ASSERT_FALSE(index.ok()) << "expected: " << part;
  EXPECT_THAT(std::string(index.status().message()), HasSubstr(part));
}

TEST(ShardIndex, TensorsAreMappedToShards) {
  const auto index = ParseShardIndex(
      R"({"metadata":{"total_size":1,"deep":[{"weight_map":[1,null,true,-1,1.5]}]},
          "weight_map":{"a":"s2.safetensors","b":"s1.safetensors","c":"s2.safetensors"},
          "more":"x"})");
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(index->shards, ElementsAre("s2.safetensors", "s1.safetensors"));
  ASSERT_EQ(index->locations.size(), 3U);
  EXPECT_EQ(index->locations[2].tensor, "c");
  EXPECT_EQ(index->locations[2].shard, 0U);
}

TEST(ShardIndex, ShardsThatLeadOutOfTheFolderAreRefused) {
  for (const char* name :
       {"../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "a\\\\b.safetensors",
        ".safetensors", "", "passwd", "a\\u0000.safetensors"}) {
    ExpectRefused(std::string(R"({"weight_map":{"a":")") + name + "\"}}", "not the name of a");
  }
}

TEST(ShardIndex, MalformedIndexesAreRefused) {
  ExpectRefused("", "not valid JSON");
  ExpectRefused("[]", "a list stands where it must not");
  ExpectRefused("3", "a number stands where it must not");
  ExpectRefused("{}", "no weight_map");
  ExpectRefused(R"({"weight_map":{}})", "no weight_map, or an empty one");
  ExpectRefused(R"({"weight_map":[]})", "a list");
  ExpectRefused(R"({"weight_map":"x"})", "a string");
  ExpectRefused(R"({"weight_map":{"a":1}})", "a number");
  ExpectRefused(R"({"weight_map":{"a":{"b":"c.safetensors"}}})", "an object");
  ExpectRefused(R"({"weight_map":{"a":"c.safetensors","a":"d.safetensors"}})",
                "tensor \"a\" is there twice");
  ExpectRefused(R"({"weight_map":{"a":"c.safetensors"},"weight_map":{}})", "weight_map is there");
}

TEST(ShardIndex, AFormattedIndexReadsBack) {
  const ShardIndex index = {{"x.safetensors", "y.safetensors"}, {{"a \"b\"", 0}, {"c", 1}}};
  const auto again = ParseShardIndex(FormatShardIndex(index, 12));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->shards, index.shards);
  ASSERT_EQ(again->locations.size(), 2U);
  EXPECT_EQ(again->locations[0].tensor, "a \"b\"");
  EXPECT_EQ(again->locations[1].shard, 1U);
}

TEST(ShardIndex, WithoutAnIndexFileTheFolderIsListed) {
  const stoker::testing::ScratchDir dir;
  EXPECT_TRUE(absl::IsNotFound(FindShards(dir.path()).status()));
  std::ofstream(dir / "b.safetensors");
  std::ofstream(dir / "a.safetensors");
  std::ofstream(dir / "notes.txt");
  const auto index = FindShards(dir.path());
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(index->shards, ElementsAre("a.safetensors", "b.safetensors"));
  EXPECT_TRUE(index->locations.empty());
}

TEST(ShardIndex, NumberedShardsMustBeComplete) {
  const stoker::testing::ScratchDir dir;
  std::ofstream(dir / "model-00001-of-00003.safetensors");
  std::ofstream(dir / "model-00003-of-00003.safetensors");
  const auto index = FindShards(dir.path());
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(std::string(index.status().message()),
              HasSubstr("shard \"model-00002-of-00003.safetensors\" is missing"));
}

}  // namespace
}  // namespace stoker::checkpoint
