#include "kernels/elementwise.h"

#include <limits>

#include "tests/kernels/kernel_fixture.h"

namespace stoker::kernels {
namespace {

class ElementwiseTest : public EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseTest, testing::ValuesIn(SupportedIsas()), IsaName);

TEST_P(ElementwiseTest, RmsNormMatchesTheDefinition) {
  for (const std::size_t cols : {1U, 15U, 16U, 64U, 100U, 2048U}) {
    const RandomRows x(4, cols, 1, 3.0F);
    const RandomRows weight(1, cols, 2);
    tensor::Matrix<float> y;
    RmsNorm(context(), x.view(), {weight.view().Row(0), cols}, 1e-5F, y.Resize(4, cols));
    for (std::size_t row = 0; row < 4; ++row) {
      double sum = 0.0;
      for (std::size_t col = 0; col < cols; ++col) {
        sum += std::pow(static_cast<double>(x.view().Row(row)[col]), 2);
      }
      const double factor = 1.0 / std::sqrt(sum / static_cast<double>(cols) + 1e-5);
      for (std::size_t col = 0; col < cols; ++col) {
        const double expected = static_cast<double>(x.view().Row(row)[col]) * factor *
                                static_cast<double>(weight.view().Row(0)[col]);
        ASSERT_NEAR(static_cast<double>(y.view().Row(row)[col]), expected,
                    1e-6 * std::abs(expected) + 1e-9);
      }
    }
  }
}

TEST_P(ElementwiseTest, RmsNormInPlaceAndForManyRows) {
  const RandomRows weight(1, 300, 2);
  const RandomRows x(700, 300, 1);
  RandomRows in_place(700, 300, 1);
  tensor::Matrix<float> y;
  RmsNorm(context(), x.view(), {weight.view().Row(0), 300}, 1e-6F, y.Resize(700, 300));
  RmsNorm(context(), in_place.view(), {weight.view().Row(0), 300}, 1e-6F, in_place.view());
  ExpectSameBits(in_place.view(), y.view());
  tensor::Matrix<float> alone;
  RmsNorm(context(), x.view().Rows(699, 1), {weight.view().Row(0), 300}, 1e-6F,
          alone.Resize(1, 300));
  ExpectSameBits(alone.view(), y.view().Rows(699, 1));
}

TEST_P(ElementwiseTest, AddAdds) {
  const RandomRows x(3, 133, 1);
  const RandomRows before(3, 133, 2);
  RandomRows y(3, 133, 2);
  Add(context(), x.view(), y.view());
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t col = 0; col < 133; ++col) {
      ASSERT_EQ(y.view().Row(row)[col], before.view().Row(row)[col] + x.view().Row(row)[col]);
    }
  }
}

TEST_P(ElementwiseTest, RopeRotatesAdjacentPairsOfItsSlicesOnly) {
  constexpr std::size_t kHeads = 3;
  constexpr std::size_t kStride = 24;
  for (const std::size_t dim : {2U, 6U, 16U}) {
    const RandomRows before(4, kHeads * kStride, 5);
    RandomRows x(4, kHeads * kStride, 5);
    tensor::Matrix<float> cos;
    tensor::Matrix<float> sin;
    cos.Resize(10, dim / 2);
    sin.Resize(10, dim / 2);
    for (std::size_t position = 0; position < 10; ++position) {
      for (std::size_t i = 0; i < dim / 2; ++i) {
        const double angle = 0.3 * static_cast<double>(position * (i + 1));
        cos.view().Row(position)[i] = static_cast<float>(std::cos(angle));
        sin.view().Row(position)[i] = static_cast<float>(std::sin(angle));
      }
    }
    const std::vector<std::int32_t> positions = {0, 9, 4, 4};
    Rope(context(), {.x = x.view().Columns(8, kHeads * kStride - 8),
                     .heads = kHeads,
                     .head_stride = kStride,
                     .dim = dim,
                     .positions = positions,
                     .cos = cos.view(),
                     .sin = sin.view()});
    for (std::size_t row = 0; row < 4; ++row) {
      const auto position = static_cast<std::size_t>(positions[row]);
      for (std::size_t col = 0; col < kHeads * kStride; ++col) {
        const float actual = x.view().Row(row)[col];
        const float* from = before.view().Row(row);
        const std::size_t in_head = col % kStride;
        if (in_head < 8 || in_head >= 8 + dim) {
          ASSERT_EQ(actual, from[col]);
          continue;
        }
        const std::size_t pair = (in_head - 8) / 2;
        const float c = cos.view().Row(position)[pair];
        const float s = sin.view().Row(position)[pair];
        const float expected = in_head % 2 == 0 ? from[col] * c - from[col + 1] * s
                                                : from[col - 1] * s + from[col] * c;
        ASSERT_NEAR(actual, expected, 1e-6F);
      }
    }
  }
}

TEST_P(ElementwiseTest, SwigluMatchesTheDefinitionOverItsRange) {
  const OpTable& ops = *context().ops;
  std::vector<float> gate;
  for (float x = -120.0F; x <= 120.0F; x += 0.037F) gate.push_back(x);
  for (const float x : {0.0F, -0.0F, 1e-30F, -1e-40F, 1e38F, -1e38F}) gate.push_back(x);
  std::vector<float> up(gate.size());
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = 0.5F - static_cast<float>(i % 3);
  std::vector<float> out(gate.size());
  ops.swiglu(gate.data(), up.data(), gate.size(), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const auto g = static_cast<double>(gate[i]);
    const double expected = g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]);
    ASSERT_NEAR(static_cast<double>(out[i]), expected, 1e-6 * std::abs(expected) + 1e-36)
        << "gate " << gate[i];
  }
}

TEST_P(ElementwiseTest, SwigluKeepsNonFiniteValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float gate[] = {nan, 1.0F, std::numeric_limits<float>::infinity(), 1.0F};
  const float up[] = {1.0F, nan, 1.0F, 2.0F};
  float out[4];
  context().ops->swiglu(gate, up, 4, out);
  EXPECT_FALSE(std::isfinite(out[0]));
  EXPECT_FALSE(std::isfinite(out[1]));
  EXPECT_FALSE(std::isfinite(out[2]));
  EXPECT_TRUE(std::isfinite(out[3]));
}

}  // namespace
}  // namespace stoker::kernels
