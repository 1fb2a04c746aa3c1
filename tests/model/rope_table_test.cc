#include "model/rope_table.h"

#include <cmath>

#include "gtest/gtest.h"

namespace stoker::model {
namespace {

checkpoint::YarnConfig Kimi(double factor, double beta_fast) {
  return {.factor = factor,
          .original_max_positions = 4096,
          .beta_fast = beta_fast,
          .beta_slow = 1,
          .mscale = 1.0,
          .mscale_all_dim = 1.0};
}

// Index of the first pair whose frequency YaRN has changed, and of the first fully divided one.
std::pair<std::size_t, std::size_t> RampOf(const checkpoint::YarnConfig& yarn) {
  const auto plain = RopeFrequencies(64, 50000, std::nullopt);
  const auto scaled = RopeFrequencies(64, 50000, yarn);
  std::size_t changed = 0;
  while (changed < 32 && scaled[changed] == plain[changed]) ++changed;
  std::size_t divided = changed;
  while (divided < 32 && std::abs(scaled[divided] * yarn.factor / plain[divided] - 1) > 1e-12) {
    ++divided;
  }
  return {changed, divided};
}

TEST(RopeTable, YarnRampOfKimiK26RunsFrom8To20) {
  EXPECT_EQ(RampOf(Kimi(64, 32)), (std::pair<std::size_t, std::size_t>{9, 20}));
}

TEST(RopeTable, YarnRampOfKimiK2ThinkingIsAStepAt20) {
  EXPECT_EQ(RampOf(Kimi(64, 1)), (std::pair<std::size_t, std::size_t>{20, 20}));
}

TEST(RopeTable, SoftmaxScaleCarriesYarnsMagnitudeSquared) {
  checkpoint::ModelConfig config;
  config.qk_nope_dim = 128;
  config.qk_rope_dim = 64;
  EXPECT_NEAR(SoftmaxScale(config), 0.0721688, 1e-7);
  config.yarn = Kimi(64, 32);
  EXPECT_NEAR(SoftmaxScale(config), 0.1446796, 1e-7);
  config.yarn = Kimi(32, 1);
  EXPECT_NEAR(SoftmaxScale(config), 0.1308608, 1e-7);
}

TEST(RopeTable, EqualMagnitudesCancel) {
  checkpoint::ModelConfig config;
  config.qk_rope_dim = 64;
  config.rope_theta = 50000;
  config.yarn = Kimi(64, 32);
  const RopeTable table(config, 3);
  EXPECT_FLOAT_EQ(table.cos().Row(0)[0], 1.0F);
  EXPECT_FLOAT_EQ(table.cos().Row(2)[0], std::cos(2.0F));
  EXPECT_FLOAT_EQ(table.sin().Row(2)[0], std::sin(2.0F));
  config.yarn->mscale_all_dim = 0.0;
  const RopeTable scaled(config, 1);
  EXPECT_FLOAT_EQ(scaled.cos().Row(0)[0], static_cast<float>(0.1 * std::log(64.0) + 1.0));
}

}  // namespace
}  // namespace stoker::model
