#include "cli/bench_rows.h"

#include "cli/model_bench.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

// 8 tokens a step of 0.5 s that reads 5 GB, where the machine reads 12.5 GB/s.
BenchRow Row() {
  return {.tokens = 8,
          .seconds = 0.5,
          .bytes = 5'000'000'000,
          .peak_bytes_per_s = 12.5e9,
          .whole_model = std::nullopt};
}

BenchRun ARun() {
  return {.load_seconds = 4.0,
          .loaded_bytes = 11'000'000'000,
          .weight_bytes = 10'000'000'000,
          .peak_bytes_per_s = 12.5e9,
          .threads = 2,
          .isa = "avx512",
          .whole_model = std::nullopt};
}

TEST(BenchRows, FiguresFollowFromTimeAndBytes) {
  EXPECT_DOUBLE_EQ(Row().tok_per_s(), 16.0);
  EXPECT_DOUBLE_EQ(Row().gb_per_s(), 10.0);
  EXPECT_DOUBLE_EQ(Row().share_of_peak(), 0.8);
  EXPECT_DOUBLE_EQ(BenchRow().tok_per_s(), 0.0);
}

TEST(BenchRows, TheMedianHasItsOwnBytes) {
  const PartCost of_three = MedianCost({{3.0, 10}, {1.0, 30}, {2.0, 20}});
  EXPECT_DOUBLE_EQ(of_three.seconds, 2.0);
  EXPECT_EQ(of_three.bytes, 20U);
  const PartCost of_four = MedianCost({{4.0, 70}, {1.0, 90}, {2.0, 10}, {3.0, 30}});
  EXPECT_DOUBLE_EQ(of_four.seconds, 2.5);
  EXPECT_EQ(of_four.bytes, 20U);
}

TEST(BenchRows, DecodeJsonHasTheFieldsThatThePeersReportHas) {
  const nlohmann::ordered_json json = DecodeJson({Row()}, 128, ARun());
  EXPECT_EQ(json["rows"][0]["batch"], 8);
  EXPECT_EQ(json["rows"][0]["context"], 128);
  EXPECT_EQ(json["rows"][0]["tok_per_s"], 16.0);
  EXPECT_EQ(json["rows"][0]["step_ms"], 500.0);
  EXPECT_EQ(json["rows"][0]["share_of_peak"], 0.8);
  EXPECT_EQ(json["peak_gb_per_s"], 12.5);
  EXPECT_EQ(json["load_s"], 4.0);
  EXPECT_FALSE(json["rows"][0].contains("whole_model"));
}

TEST(BenchRows, AWholeModelIsReportedBesideItsLayers) {
  BenchRow row = Row();
  row.whole_model = PartCost{.seconds = 4.0, .bytes = 40'000'000'000};
  BenchRun run = ARun();
  run.whole_model = LayerCounts{.dense = 1, .moe = 60};
  const nlohmann::ordered_json json = DecodeJson({row}, 128, run);
  EXPECT_EQ(json["rows"][0]["whole_model"]["tok_per_s"], 2.0);
  EXPECT_EQ(json["whole_model_layers"]["moe"], 60);
  EXPECT_NE(DecodeText({row}, run).find("1 dense and 60 MoE layers"), std::string::npos);
}

TEST(BenchRows, PrefillRowsAreByTheLengthOfThePrompt) {
  const nlohmann::ordered_json json = PrefillJson({Row()}, ARun());
  EXPECT_EQ(json["rows"][0]["tokens"], 8);
  EXPECT_EQ(json["rows"][0]["seconds"], 0.5);
}

TEST(BenchRows, CacheIsCountedInWholeBlocks) {
  EXPECT_EQ(CacheTokens(3, 1), 192U);
  EXPECT_EQ(CacheTokens(2, 64), 128U);
  EXPECT_EQ(CacheTokens(2, 65), 256U);
}

}  // namespace
}  // namespace stoker::cli
