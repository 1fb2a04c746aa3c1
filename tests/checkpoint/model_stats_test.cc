#include "checkpoint/model_stats.h"

#include "base/units.h"
#include "checkpoint/synthetic.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

TEST(ModelStats, RealK26HasItsPublishedSizes) {
  const auto path = stoker::testing::SharedPath("data/kimi-k2.6/config.json");
  if (path.empty()) GTEST_SKIP() << "no ../shared/data/kimi-k2.6 here";
  const auto config = LoadModelConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelStats stats = ComputeModelStats(*config);
  EXPECT_EQ(FormatCount(stats.total.parameters), "1.03 T");
  EXPECT_EQ(FormatCount(stats.total.active_parameters), "31.69 B");
  EXPECT_EQ(FormatBytes(stats.expert_bytes), "24.77 MB");
  EXPECT_EQ(FormatBytes(stats.of(WeightClass::kRoutedExperts).active_bytes), "11.89 GB");
  EXPECT_EQ(stats.kv_bytes_per_token, 70'272U);
  EXPECT_EQ(stats.moe_layers, 60U);
  // Beside the experts a token reads 10.55 B weights in BF16 (embedding: one row).
  EXPECT_EQ(
      FormatBytes(stats.total.active_bytes - stats.of(WeightClass::kRoutedExperts).active_bytes),
      "21.10 GB");
  // The published files hold 554.3 GiB with a vision tower of under 1 GB.
  EXPECT_NEAR(static_cast<double>(stats.total.bytes), 554.3 * 1024 * 1024 * 1024, 1.5e9);
}

TEST(ModelStats, ClassesAddUpToTheTotal) {
  for (const std::string& name : ShapeNames()) {
    const ModelStats stats = ComputeModelStats(*NamedShape(name));
    WeightStats sum;
    for (const WeightClass weight_class : kWeightClasses) {
      sum.parameters += stats.of(weight_class).parameters;
      sum.bytes += stats.of(weight_class).bytes;
      sum.active_parameters += stats.of(weight_class).active_parameters;
      sum.active_bytes += stats.of(weight_class).active_bytes;
    }
    EXPECT_EQ(sum.parameters, stats.total.parameters) << name;
    EXPECT_EQ(sum.bytes, stats.total.bytes) << name;
    EXPECT_EQ(sum.active_parameters, stats.total.active_parameters) << name;
    EXPECT_EQ(sum.active_bytes, stats.total.active_bytes) << name;
  }
}

TEST(ModelStats, MoonlightIs16BillionOf3BillionActive) {
  const ModelStats stats = ComputeModelStats(*NamedShape("moonlight"));
  EXPECT_NEAR(static_cast<double>(stats.total.parameters), 16e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(stats.total.active_parameters), 2.6e9, 0.4e9);
}

TEST(ModelStats, ATiedHeadIsStoredOnceAndReadTwice) {
  ModelConfig config = *NamedShape("tiny");
  const ModelStats untied = ComputeModelStats(config);
  config.tied_embeddings = true;
  const ModelStats tied = ComputeModelStats(config);
  EXPECT_EQ(tied.total.parameters + config.vocab * config.hidden, untied.total.parameters);
  EXPECT_EQ(tied.total.active_bytes, untied.total.active_bytes);
}

TEST(ModelStats, QuantisationShrinksTheClassesThatItCovers) {
  ModelConfig config = *NamedShape("tiny");
  config.quant = QuantMethod::kNone;
  const ModelStats plain = ComputeModelStats(config);
  config.quant = QuantMethod::kFp8Block;
  const ModelStats fp8 = ComputeModelStats(config);
  config.quant = QuantMethod::kInt4PackQuantized;
  const ModelStats int4 = ComputeModelStats(config);
  EXPECT_EQ(plain.expert_bytes, plain.expert_parameters * 2);
  EXPECT_EQ(int4.expert_bytes, int4.expert_parameters * 9 / 16);
  EXPECT_EQ(fp8.expert_bytes, fp8.expert_parameters + 3 * 4);  // one block scale a matrix
  EXPECT_EQ(int4.of(WeightClass::kAttention).bytes, plain.of(WeightClass::kAttention).bytes);
  EXPECT_LT(fp8.of(WeightClass::kAttention).bytes, plain.of(WeightClass::kAttention).bytes);
  EXPECT_EQ(fp8.of(WeightClass::kHead).bytes, plain.of(WeightClass::kHead).bytes);
}

}  // namespace
}  // namespace stoker::checkpoint
