#include "kernels/mlp.h"

#include <algorithm>
#include <numeric>

#include "tensor/dequantise.h"
#include "tests/kernels/kernel_fixture.h"

namespace stoker::kernels {
namespace {

using tensor::MatrixView;
using tensor::WeightFormat;

class MlpTest : public EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, MlpTest, testing::ValuesIn(SupportedIsas()), IsaName);

struct Formats {
  WeightFormat gate;
  WeightFormat up;
  WeightFormat down;
};

/// One SwiGLU block that owns its weights.
struct Block {
  Block(Formats formats, std::size_t hidden, std::size_t width, std::uint32_t seed)
      : gate(formats.gate, width, hidden, seed),
        up(formats.up, width, hidden, seed + 1),
        down(formats.down, hidden, width, seed + 2),
        packed_gate(gate.view()),
        packed_up(up.view()),
        packed_down(down.view()),
        weights{packed_gate.matrix(), packed_up.matrix(), packed_down.matrix()} {}
  Block(WeightFormat format, std::size_t hidden, std::size_t width, std::uint32_t seed)
      : Block(Formats{format, format, format}, hidden, width, seed) {}

  RandomWeight gate;
  RandomWeight up;
  RandomWeight down;
  OwnedPacked packed_gate;
  OwnedPacked packed_up;
  OwnedPacked packed_down;
  MlpWeights weights;
};

std::vector<std::int32_t> Iota(std::size_t count, std::int32_t first = 0) {
  std::vector<std::int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

/// y = W x from the checkpoint's values, in double.
std::vector<double> Multiply(const tensor::LinearWeight& weight, std::span<const float> x) {
  std::vector<double> y(weight.rows);
  for (std::size_t row = 0; row < weight.rows; ++row) {
    for (std::size_t col = 0; col < weight.cols; ++col) {
      y[row] +=
          static_cast<double>(tensor::ValueAt(weight, row, col)) * static_cast<double>(x[col]);
    }
  }
  return y;
}

std::vector<float> SeenRow(const OpTable& ops, WeightFormat format, std::span<const float> x) {
  return Seen(ops, format, {x.data(), 1, x.size()});
}

/// The block's output for one row, in double but for the roundings that the table promises.
std::vector<double> Expected(const OpTable& ops, const Block& block, std::span<const float> x) {
  const std::vector<double> gate =
      Multiply(block.gate.view(), SeenRow(ops, block.gate.view().format, x));
  const std::vector<double> up = Multiply(block.up.view(), SeenRow(ops, block.up.view().format, x));
  std::vector<float> inner(gate.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    inner[i] = static_cast<float>(gate[i] / (1.0 + std::exp(-gate[i])) * up[i]);
  }
  return Multiply(block.down.view(), SeenRow(ops, block.down.view().format, inner));
}

void RunMlp(const Context& context, MatrixView<const float> x, std::span<const MlpJob> jobs,
            MatrixView<float> y) {
  MlpWorkspace workspace;
  QuantizedRows quantized;
  if (x.cols % 32 == 0) quantized.Assign(context, x);
  GroupedMlp(context, {x, x.cols % 32 == 0 ? &quantized : nullptr}, jobs, workspace, y);
}

void ExpectNear(std::span<const float> actual, const std::vector<double>& expected,
                double tolerance) {
  const double largest =
      std::abs(*std::max_element(expected.begin(), expected.end(),
                                 [](double a, double b) { return std::abs(a) < std::abs(b); }));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance * largest) << "column " << i;
  }
}

/// An inner value next to the middle of two steps of a rounding may round either way.
double Tolerance(const OpTable& ops, WeightFormat format) {
  if (format == WeightFormat::kInt4Group32) return 5e-3;
  return format == WeightFormat::kBf16 && ops.rounds_bf16_activations ? 2e-3 : 1e-5;
}

TEST_P(MlpTest, MatchesTheDefinition) {
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t tokens : {1U, 3U, 14U}) {
      const std::size_t width = format == WeightFormat::kInt4Group32 ? 96 : 75;
      const Block block(format, 64, width, 4);
      const RandomRows x(tokens, 64, 9, 0.3F);
      const std::vector<std::int32_t> rows = Iota(tokens);
      const MlpJob job{&block.weights, rows, rows};
      tensor::Matrix<float> y;
      RunMlp(context(), x.view(), {&job, 1}, y.Resize(tokens, 64));
      const double tolerance = Tolerance(*context().ops, format);
      for (std::size_t token = 0; token < tokens; ++token) {
        SCOPED_TRACE(testing::Message() << Name(format) << ", token " << token);
        ExpectNear(y.view().RowSpan(token),
                   Expected(*context().ops, block, x.view().RowSpan(token)), tolerance);
      }
    }
  }
}

TEST_P(MlpTest, BlocksOfDifferentFormatAndWidthRunTogether) {
  const Formats mixed{WeightFormat::kInt4Group32, WeightFormat::kBf16, WeightFormat::kFp8Block128};
  const Block a(WeightFormat::kInt4Group32, 96, 160, 1);
  const Block b(WeightFormat::kBf16, 96, 33, 2);
  const Block c(mixed, 96, 50, 3);
  const Block d({WeightFormat::kBf16, WeightFormat::kF16, WeightFormat::kInt4Group32}, 96, 64, 4);
  const RandomRows x(9, 96, 9, 0.3F);
  const std::vector<std::int32_t> in_a = {0, 8, 3};
  const std::vector<std::int32_t> out_a = {5, 0, 19};
  const std::vector<std::int32_t> in_b = Iota(9);
  const std::vector<std::int32_t> out_b = Iota(9, 6);
  const std::vector<std::int32_t> in_c = {2};
  const std::vector<std::int32_t> out_c = {1};
  const std::vector<std::int32_t> in_d = {7, 7};
  const std::vector<std::int32_t> out_d = {2, 3};
  const MlpJob jobs[] = {{&a.weights, in_a, out_a},
                         {&b.weights, in_b, out_b},
                         {&a.weights, {}, {}},
                         {&c.weights, in_c, out_c},
                         {&d.weights, in_d, out_d}};
  tensor::Matrix<float> y;
  RunMlp(context(), x.view(), jobs, y.Resize(20, 96));
  const Block* blocks[] = {&a, &b, &a, &c, &d};
  for (std::size_t j = 0; j < std::size(jobs); ++j) {
    for (std::size_t i = 0; i < jobs[j].input_rows.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "job " << j << ", row " << i);
      const auto in = static_cast<std::size_t>(jobs[j].input_rows[i]);
      const auto out = static_cast<std::size_t>(jobs[j].output_rows[i]);
      ExpectNear(y.view().RowSpan(out), Expected(*context().ops, *blocks[j], x.view().RowSpan(in)),
                 5e-3);
    }
  }
}

TEST_P(MlpTest, ARowIsTheSameInAnyCompany) {
  for (const WeightFormat format : {WeightFormat::kInt4Group32, WeightFormat::kBf16}) {
    const Block block(format, 128, 96, 4);
    const Block other(format, 128, 64, 5);
    const RandomRows x(64, 128, 9, 0.3F);
    tensor::Matrix<float> alone;
    alone.Resize(64, 128);
    for (std::int32_t row = 0; row < 64; ++row) {
      const std::vector<std::int32_t> rows = {row};
      const MlpJob job{&block.weights, rows, rows};
      RunMlp(context(), x.view(), {&job, 1}, alone.view());
    }
    for (const std::size_t tokens : {2U, 3U, 5U, 11U, 17U, 33U, 64U}) {
      tensor::Matrix<float> together;
      const std::vector<std::int32_t> rows = Iota(tokens);
      const std::vector<std::int32_t> other_out = {static_cast<std::int32_t>(tokens)};
      const MlpJob jobs[] = {{&other.weights, {rows.data(), 1}, other_out},
                             {&block.weights, rows, rows}};
      RunMlp(context(), x.view(), jobs, together.Resize(tokens + 1, 128));
      SCOPED_TRACE(testing::Message() << Name(format) << ", " << tokens << " rows");
      ExpectSameBits(together.view().Rows(0, tokens), alone.view().Rows(0, tokens));
    }
  }
}

TEST_P(MlpTest, ThreadsDoNotChangeTheResult) {
  const Block a(WeightFormat::kInt4Group32, 128, 160, 4);
  const Block b(WeightFormat::kBf16, 128, 320, 5);
  const RandomRows x(20, 128, 9, 0.3F);
  const std::vector<std::int32_t> rows = Iota(20);
  const std::vector<std::int32_t> out_b = Iota(20, 20);
  const MlpJob jobs[] = {{&a.weights, rows, rows}, {&b.weights, rows, out_b}};
  tensor::Matrix<float> y[3];
  for (const int threads : {1, 2, 3}) {
    const auto pool = MakePool(threads);
    RunMlp({&OpsFor(GetParam()), pool.get()}, x.view(), jobs, y[threads - 1].Resize(40, 128));
  }
  ExpectSameBits(y[1].view(), y[0].view());
  ExpectSameBits(y[2].view(), y[0].view());
}

TEST_P(MlpTest, AWorkspaceServesCallsOfAnySize) {
  const Block block(WeightFormat::kInt4Group32, 64, 96, 4);
  const RandomRows x(40, 64, 9, 0.3F);
  QuantizedRows quantized;
  quantized.Assign(context(), x.view());
  MlpWorkspace workspace;
  tensor::Matrix<float> first;
  const std::vector<std::int32_t> all = Iota(40);
  const MlpJob big{&block.weights, all, all};
  GroupedMlp(context(), {x.view(), &quantized}, {&big, 1}, workspace, first.Resize(40, 64));
  for (const std::size_t tokens : {1U, 7U, 40U}) {
    tensor::Matrix<float> y;
    const std::span<const std::int32_t> rows(all.data(), tokens);
    const MlpJob job{&block.weights, rows, rows};
    GroupedMlp(context(), {x.view(), &quantized}, {&job, 1}, workspace, y.Resize(tokens, 64));
    ExpectSameBits(y.view(), first.view().Rows(0, tokens));
  }
}

TEST_P(MlpTest, CombineAddsWeightedRowsInSlotOrder) {
  const RandomRows expert_out(5 * 3, 75, 1);
  const RandomRows weights(5, 3, 2);
  const RandomRows before(5, 75, 3);
  RandomRows y(5, 75, 3);
  CombineExperts(context(), expert_out.view(), weights.view(), y.view());
  for (std::size_t token = 0; token < 5; ++token) {
    for (std::size_t col = 0; col < 75; ++col) {
      double sum = static_cast<double>(before.view().Row(token)[col]);
      for (std::size_t slot = 0; slot < 3; ++slot) {
        sum += static_cast<double>(weights.view().Row(token)[slot]) *
               static_cast<double>(expert_out.view().Row(token * 3 + slot)[col]);
      }
      ASSERT_NEAR(static_cast<double>(y.view().Row(token)[col]), sum, 1e-5);
    }
  }
}

}  // namespace
}  // namespace stoker::kernels
