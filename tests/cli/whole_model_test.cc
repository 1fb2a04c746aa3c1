#include "cli/whole_model.h"

#include "checkpoint/synthetic.h"
#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

TEST(WholeModel, StepsAddUpFromTheirParts) {
  const StepCosts costs = {
      .dense_layer = {0.02, 200}, .moe_layer = {0.01, 100}, .outside = {0.05, 500}};
  const PartCost whole = WholeModelStep(costs, {.dense = 1, .moe = 60});
  EXPECT_DOUBLE_EQ(whole.seconds, 0.67);
  EXPECT_EQ(whole.bytes, 6700U);
}

TEST(WholeModel, AFewLayersOfKimiK2StandForAllOfThem) {
  const auto layers = WholeModelOf(checkpoint::NamedShape("k2-layer").value());
  ASSERT_TRUE(layers.has_value());
  EXPECT_EQ(layers->dense, 1U);
  EXPECT_EQ(layers->moe, 60U);
}

TEST(WholeModel, OtherModelsStandForThemselves) {
  EXPECT_FALSE(WholeModelOf(checkpoint::NamedShape("moonlight").value()).has_value());
  checkpoint::ModelConfig whole = checkpoint::NamedShape("k2-layer").value();
  whole.layers = 61;
  EXPECT_FALSE(WholeModelOf(whole).has_value());
}

}  // namespace
}  // namespace stoker::cli
