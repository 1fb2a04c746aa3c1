// Tables that transformers, torch and compressed-tensors define, made by
// tools/oracle/make_tables.py.

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "gtest/gtest.h"
#include "model/rope_table.h"
#include "tensor/dequantise.h"
#include "tensor/float_types.h"
#include "tests/model/golden_tensors.h"
#include "tests/support/paths.h"

namespace stoker::model {
namespace {

class Tables : public ::testing::Test {
 protected:
  void SetUp() override {
    auto tables = GoldenTensors::Open(testing::SourcePath("tests/golden/tables.safetensors"));
    ASSERT_TRUE(tables.ok()) << tables.status();
    tables_.emplace(*std::move(tables));
  }

  void ExpectKimiFrequencies(const std::string& name, double beta_fast) const {
    const checkpoint::YarnConfig yarn{.factor = 64,
                                      .original_max_positions = 4096,
                                      .beta_fast = beta_fast,
                                      .beta_slow = 1,
                                      .mscale = 1.0,
                                      .mscale_all_dim = 1.0};
    const auto frequencies = RopeFrequencies(64, 50000, yarn);
    const auto expected = tables_->Values<float>(name);
    ASSERT_EQ(frequencies.size(), expected.size());
    for (std::size_t pair = 0; pair < expected.size(); ++pair) {
      EXPECT_NEAR(frequencies[pair] / expected[pair], 1.0, 1e-6) << name << " pair " << pair;
    }
  }

  std::optional<GoldenTensors> tables_;
};

TEST_F(Tables, YarnFrequenciesAreThoseOfTransformers) {
  ExpectKimiFrequencies("yarn_k26", 32);
  ExpectKimiFrequencies("yarn_k2_thinking", 1);
}

TEST_F(Tables, EveryFp8CodeHasTorchsValue) {
  const auto expected = tables_->Values<float>("e4m3");
  ASSERT_EQ(expected.size(), 256U);
  for (std::size_t code = 0; code < 256; ++code) {
    const float value = tensor::ToFloat(static_cast<tensor::F8E4M3>(code));
    if (std::isnan(expected[code])) {
      EXPECT_TRUE(std::isnan(value)) << "code " << code;
    } else {
      EXPECT_EQ(value, expected[code]) << "code " << code;
    }
  }
}

TEST_F(Tables, Int4WeightsAreThoseThatCompressedTensorsUnpacks) {
  const auto packed = tables_->Values<std::int32_t>("int4_packed");
  const auto scale = tables_->Values<std::uint16_t>("int4_scale");
  const auto expected = tables_->Values<float>("int4_values");
  const std::vector<std::size_t> shape = tables_->Shape("int4_values");
  const tensor::LinearWeight weight{.format = tensor::WeightFormat::kInt4Group32,
                                    .rows = shape[0],
                                    .cols = shape[1],
                                    .weight = std::as_bytes(std::span(packed)),
                                    .scale = std::as_bytes(std::span(scale))};
  for (std::size_t row = 0; row < shape[0]; ++row) {
    for (std::size_t col = 0; col < shape[1]; ++col) {
      ASSERT_EQ(tensor::ValueAt(weight, row, col), expected[row * shape[1] + col])
          << row << ", " << col;
    }
  }
}

}  // namespace
}  // namespace stoker::model
