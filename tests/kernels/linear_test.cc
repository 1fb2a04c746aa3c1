#include "kernels/linear.h"

#include <limits>

#include "gmock/gmock.h"
#include "tensor/dequantise.h"
#include "tests/kernels/kernel_fixture.h"

namespace stoker::kernels {
namespace {

using tensor::MatrixView;
using tensor::WeightFormat;

/// A product's operands, with room for the result.
struct Problem {
  Problem(WeightFormat format, std::size_t rows, std::size_t cols, std::size_t tokens,
          std::uint32_t seed = 1)
      : weight(format, rows, cols, seed), packed(weight.view()), x(tokens, cols, seed + 1) {}

  MatrixView<const float> Run(const Context& context) {
    return Run(context, x.view(), packed.matrix());
  }
  MatrixView<const float> Run(const Context& context, MatrixView<const float> input,
                              const PackedMatrix& matrix) {
    if (matrix.format == WeightFormat::kInt4Group32) quantized.Assign(context, input);
    const MatrixView<float> out = y.Resize(input.rows, matrix.rows);
    const LinearJob job{{input, &quantized}, matrix, out};
    Linear(context, {&job, 1});
    return out;
  }

  RandomWeight weight;
  OwnedPacked packed;
  RandomRows x;
  QuantizedRows quantized;
  tensor::Matrix<float> y;
};

class LinearTest : public EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LinearTest, testing::ValuesIn(SupportedIsas()), IsaName);

/// Checks y against sums in double of the very operands that the kernel saw. The error of summing
/// n floats is far below n ulps of the sum of magnitudes.
void ExpectProduct(const Problem& problem, const OpTable& ops, MatrixView<const float> y,
                   bool exact = false) {
  const tensor::LinearWeight weight = problem.weight.view();
  const MatrixView<const float> x = problem.x.view();
  const std::vector<float> seen = Seen(ops, exact ? WeightFormat::kF32 : weight.format, x);
  std::vector<double> row_values(x.cols);
  for (std::size_t row = 0; row < weight.rows; ++row) {
    for (std::size_t col = 0; col < x.cols; ++col) {
      row_values[col] = static_cast<double>(tensor::ValueAt(weight, row, col));
    }
    for (std::size_t token = 0; token < x.rows; ++token) {
      double sum = 0.0;
      double magnitude = 0.0;
      for (std::size_t col = 0; col < x.cols; ++col) {
        const double term = row_values[col] * static_cast<double>(seen[token * x.cols + col]);
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(y.Row(token)[row]), sum, 2e-6 * magnitude + 1e-30)
          << Name(weight.format) << " [" << weight.rows << ", " << x.cols << "] row " << row
          << ", token " << token << " of " << x.rows;
    }
  }
}

TEST_P(LinearTest, MatchesTheDefinitionOnOddShapes) {
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t rows : {1U, 16U, 47U, 130U}) {
      for (const std::size_t cols : {1U, 32U, 96U, 129U, 257U, 640U}) {
        if (format == WeightFormat::kInt4Group32 && cols % 32 != 0) continue;
        for (const std::size_t tokens : {1U, 2U, 5U, 19U}) {
          Problem problem(format, rows, cols, tokens);
          ExpectProduct(problem, *context().ops, problem.Run(context()));
        }
      }
    }
  }
}

TEST_P(LinearTest, MatchesTheDefinitionForEveryNumberOfTokens) {
  for (const WeightFormat format : kAllFormats) {
    for (std::size_t tokens = 1; tokens <= 40; ++tokens) {
      Problem problem(format, 50, 160, tokens);
      ExpectProduct(problem, *context().ops, problem.Run(context()));
    }
  }
}

TEST_P(LinearTest, MatchesTheDefinitionOnLargeShapes) {
  if (GetParam() == Isa::kRef) GTEST_SKIP() << "slow, and the same loops";
  for (const WeightFormat format : kAllFormats) {
    Problem problem(format, 100, 1408, 130);
    ExpectProduct(problem, *context().ops, problem.Run(context()));
  }
}

TEST_P(LinearTest, ExactKeepsActivationsFloat32) {
  for (const std::size_t tokens : {1U, 5U, 19U}) {
    Problem problem(WeightFormat::kBf16, 47, 257, tokens);
    const MatrixView<const float> x = problem.x.view();
    const LinearJob job{.x = {x},
                        .weight = problem.packed.matrix(),
                        .y = problem.y.Resize(tokens, 47),
                        .exact = true};
    Linear(context(), {&job, 1});
    ExpectProduct(problem, *context().ops, problem.y.view(), true);
  }
}

TEST_P(LinearTest, ATokenIsTheSameInAnyCompany) {
  const bool slow = GetParam() == Isa::kRef;
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t cols : {96U, slow ? 128U : 640U}) {
      Problem problem(format, 90, cols, 512);
      const MatrixView<const float> all_x = problem.x.view();
      tensor::Matrix<float> all;
      const MatrixView<float> expected = all.Resize(512, 90);
      for (std::size_t token = 0; token < 512; ++token) {
        const MatrixView<const float> alone =
            problem.Run(context(), all_x.Rows(token, 1), problem.packed.matrix());
        std::copy_n(alone.data, 90, expected.Row(token));
      }
      for (const std::size_t tokens : {2U,  3U,  4U,  5U,  6U,  7U,  8U,  9U,  10U,  11U,
                                       12U, 13U, 14U, 15U, 16U, 17U, 33U, 64U, 200U, 512U}) {
        const MatrixView<const float> together =
            problem.Run(context(), all_x.Rows(512 - tokens, tokens), problem.packed.matrix());
        SCOPED_TRACE(testing::Message() << Name(format) << ", " << tokens << " tokens");
        ExpectSameBits(together, expected.Rows(512 - tokens, tokens));
      }
    }
  }
}

TEST_P(LinearTest, ThreadsDoNotChangeTheResult) {
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t tokens : {1U, 7U, 100U}) {
      Problem one(format, 330, 288, tokens);
      const auto pool1 = MakePool(1);
      const MatrixView<const float> expected = one.Run({&OpsFor(GetParam()), pool1.get()});
      for (const int threads : {2, 3}) {
        Problem several(format, 330, 288, tokens);
        const auto pool = MakePool(threads);
        ExpectSameBits(several.Run({&OpsFor(GetParam()), pool.get()}), expected);
      }
    }
  }
}

TEST_P(LinearTest, SeveralProductsRunAsOne) {
  Problem a(WeightFormat::kBf16, 40, 64, 3, 10);
  Problem b(WeightFormat::kInt4Group32, 500, 96, 5, 20);
  Problem c(WeightFormat::kFp8Block128, 7, 33, 1, 30);
  const MatrixView<const float> expected_a = a.Run(context());
  const MatrixView<const float> expected_b = b.Run(context());
  const MatrixView<const float> expected_c = c.Run(context());
  tensor::Matrix<float> y[3];
  const LinearJob jobs[] = {{{a.x.view(), nullptr}, a.packed.matrix(), y[0].Resize(3, 40)},
                            {{b.x.view(), &b.quantized}, b.packed.matrix(), y[1].Resize(5, 500)},
                            {{c.x.view(), nullptr}, c.packed.matrix(), y[2].Resize(1, 7)}};
  Linear(context(), jobs);
  ExpectSameBits(y[0].view(), expected_a);
  ExpectSameBits(y[1].view(), expected_b);
  ExpectSameBits(y[2].view(), expected_c);
}

TEST_P(LinearTest, NothingIsWrittenBeyondTheResult) {
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t tokens : {1U, 20U, 70U}) {
      Problem problem(format, 35, 64, tokens);
      if (format == WeightFormat::kInt4Group32) {
        problem.quantized.Assign(context(), problem.x.view());
      }
      std::vector<float> storage(tokens * 40, 123.0F);
      const LinearJob job{{problem.x.view(), &problem.quantized},
                          problem.packed.matrix(),
                          {storage.data(), tokens, 35, 40}};
      Linear(context(), {&job, 1});
      for (std::size_t i = 0; i < storage.size(); ++i) {
        if (i % 40 >= 35) {
          ASSERT_EQ(storage[i], 123.0F) << Name(format) << " " << i;
        }
      }
    }
  }
}

TEST_P(LinearTest, NoTokensIsNoWork) {
  Problem problem(WeightFormat::kBf16, 35, 64, 1);
  EXPECT_EQ(problem.Run(context(), problem.x.view().Rows(0, 0), problem.packed.matrix()).rows, 0U);
}

TEST_P(LinearTest, NonFiniteActivationsAreNotLost) {
  for (const WeightFormat format : kAllFormats) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      Problem problem(format, 16, 64, 2);
      problem.x.view().Row(1)[37] = bad;
      const MatrixView<const float> y = problem.Run(context());
      bool finite = true;
      for (std::size_t row = 0; row < 16; ++row) {
        EXPECT_TRUE(std::isfinite(y.Row(0)[row]));
        finite = finite && std::isfinite(y.Row(1)[row]);
      }
      EXPECT_FALSE(finite) << Name(format);
    }
  }
}

TEST_P(LinearTest, ExtremeActivations) {
  for (const WeightFormat format : kAllFormats) {
    for (const float scale : {0.0F, 1e-38F, 1e-42F, 1e-31F, 1e30F}) {
      Problem problem(format, 20, 96, 3);
      problem.x = RandomRows(3, 96, 5, scale == 0.0F ? 1.0F : scale);
      if (scale == 0.0F) {
        for (std::size_t row = 0; row < 3; ++row) {
          std::fill_n(problem.x.view().Row(row), 96, 0.0F);
        }
      }
      ExpectProduct(problem, *context().ops, problem.Run(context()));
    }
  }
}

TEST(QuantizedRows, EveryInstructionSetRoundsAlike) {
  const auto pool = MakePool(2);
  RandomRows x(37, 416, 3);
  std::fill_n(x.view().Row(3), 416, 0.0F);
  std::fill_n(x.view().Row(4), 416, 1e-40F);
  std::fill_n(x.view().Row(5), 416, -3e38F);
  for (std::size_t col = 0; col < 416; ++col) {  // ties
    x.view().Row(6)[col] = static_cast<float>(col % 32) * 0.5F + 111.5F;
  }
  QuantizedRows expected;
  expected.Assign({&RefOps(), pool.get()}, x.view());
  for (const Isa isa : SupportedIsas()) {
    QuantizedRows rows;
    rows.Assign({&OpsFor(isa), pool.get()}, x.view());
    for (std::size_t row = 0; row < 37; ++row) {
      for (std::size_t group = 0; group < 13; ++group) {
        const QuantizedGroup& actual = rows.row(row)[group];
        const QuantizedGroup& wanted = expected.row(row)[group];
        SCOPED_TRACE(testing::Message() << Name(isa) << ", row " << row << ", group " << group);
        ASSERT_EQ(actual.scale, wanted.scale);
        ASSERT_EQ(actual.offset, wanted.offset);
        ASSERT_THAT(actual.values, testing::ElementsAreArray(wanted.values));
      }
    }
  }
}

TEST(QuantizedRows, ErrorIsAtMostHalfAStep) {
  const auto pool = MakePool(1);
  const RandomRows x(5, 64, 3);
  QuantizedRows rows;
  rows.Assign({&RefOps(), pool.get()}, x.view());
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t col = 0; col < 64; ++col) {
      const QuantizedGroup& group = rows.row(row)[col / 32];
      EXPECT_NEAR(static_cast<float>(group.values[col % 32]) * group.scale, x.view().Row(row)[col],
                  0.5001F * group.scale);
    }
  }
}

TEST(Linear, Int4IsBitIdenticalInEveryInstructionSet) {
  const auto pool = MakePool(2);
  for (const std::size_t tokens : {1U, 3U, 8U, 29U}) {
    Problem first(WeightFormat::kInt4Group32, 75, 1408, tokens);
    const MatrixView<const float> expected = first.Run({&OpsFor(Isa::kPortable), pool.get()});
    for (const Isa isa : SupportedIsas()) {
      if (isa == Isa::kRef) continue;  // keeps float32 activations
      Problem problem(WeightFormat::kInt4Group32, 75, 1408, tokens);
      SCOPED_TRACE(Name(isa));
      ExpectSameBits(problem.Run({&OpsFor(isa), pool.get()}), expected);
    }
  }
}

}  // namespace
}  // namespace stoker::kernels
