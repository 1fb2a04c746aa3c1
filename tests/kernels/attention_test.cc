#include "kernels/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/float_types.h"
#include "tests/kernels/kernel_fixture.h"

namespace stoker::kernels {
namespace {

using tensor::MatrixView;

class AttentionTest : public EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, AttentionTest, testing::ValuesIn(SupportedIsas()), IsaName);

struct Shape {
  std::size_t heads = 4;
  std::size_t latent = 32;
  std::size_t rope = 16;
  KvDType dtype = KvDType::kBf16;
};

/// One sequence in a paged cache whose blocks lie out of order, between entries full of NaN.
class Sequence {
 public:
  Sequence(const Context& context, Shape shape, std::size_t length, std::uint32_t seed)
      : shape_(shape),
        latents_(length, shape.latent, seed),
        rope_keys_(length, shape.rope, seed + 1),
        q_latent_(length, shape.heads * shape.latent, seed + 2),
        q_rope_(length, shape.heads * (shape.rope + 5), seed + 3) {
    const std::size_t blocks = (length + kKvBlockTokens - 1) / kKvBlockTokens;
    const std::size_t entry_bytes = (shape.latent + shape.rope) * SizeOf(shape.dtype);
    storage_.assign((2 * blocks + 1) * kKvBlockTokens * entry_bytes, std::byte{0xff});
    kv_ = {.base = storage_.data(),
           .block_stride_bytes = kKvBlockTokens * entry_bytes,
           .latent = shape.latent,
           .rope = shape.rope,
           .dtype = shape.dtype};
    for (std::size_t block = 0; block < blocks; ++block) {
      block_ids_.push_back(static_cast<std::int32_t>(2 * (blocks - block) - 1));
    }
    for (std::size_t token = 0; token < length; ++token) {
      tokens_.push_back({.block_ids = block_ids_, .visible = token + 1});
    }
    StoreKv(context, kv_, tokens_, latents_.view(), rope_keys_.view());
  }

  [[nodiscard]] MlaArgs Args(std::size_t first, std::size_t count, MatrixView<float> out) const {
    return {.kv = kv_,
            .heads = shape_.heads,
            .scale = 0.3F,
            .tokens = std::span(tokens_).subspan(first, count),
            .q_latent = q_latent_.view().Rows(first, count),
            .q_rope =
                q_rope_.view().Columns(2, shape_.heads * (shape_.rope + 5) - 2).Rows(first, count),
            .q_rope_head_stride = shape_.rope + 5,
            .out = out};
  }

  /// Attention of all tokens of [first, first + count) in chunks of `chunk`.
  MatrixView<const float> Run(const Context& context, std::size_t first, std::size_t count,
                              std::size_t chunk) {
    const MatrixView<float> out = out_.Resize(count, shape_.heads * shape_.latent);
    AttentionWorkspace workspace;
    for (std::size_t done = 0; done < count; done += chunk) {
      const std::size_t n = std::min(chunk, count - done);
      MlaAttention(context, Args(first + done, n, out.Rows(done, n)), workspace);
    }
    return out;
  }

  /// The definition, in double over the values as cached.
  [[nodiscard]] std::vector<double> Expected(std::size_t token, std::size_t head) const {
    std::vector<double> scores(token + 1);
    for (std::size_t t = 0; t <= token; ++t) {
      double score = 0.0;
      for (std::size_t i = 0; i < shape_.latent; ++i) {
        score += double{q_latent_.view().Row(token)[head * shape_.latent + i]} *
                 Cached(latents_.view().Row(t)[i]);
      }
      for (std::size_t i = 0; i < shape_.rope; ++i) {
        score += double{q_rope_.view().Row(token)[2 + head * (shape_.rope + 5) + i]} *
                 Cached(rope_keys_.view().Row(t)[i]);
      }
      scores[t] = score * double{0.3F};
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    std::vector<double> out(shape_.latent);
    for (std::size_t t = 0; t <= token; ++t) {
      const double p = std::exp(scores[t] - max);
      sum += p;
      for (std::size_t i = 0; i < shape_.latent; ++i) {
        out[i] += p * Cached(latents_.view().Row(t)[i]);
      }
    }
    for (double& value : out) value /= sum;
    return out;
  }

  RandomRows& q_latent() { return q_latent_; }
  [[nodiscard]] const PagedKv& kv() const { return kv_; }
  [[nodiscard]] const MlaToken& token(std::size_t i) const { return tokens_[i]; }

 private:
  [[nodiscard]] double Cached(float value) const {
    return double{shape_.dtype == KvDType::kF32 ? value : tensor::ToFloat(tensor::ToBf16(value))};
  }

  Shape shape_;
  RandomRows latents_;
  RandomRows rope_keys_;
  RandomRows q_latent_;
  RandomRows q_rope_;
  std::vector<std::byte> storage_;
  PagedKv kv_;
  std::vector<std::int32_t> block_ids_;
  std::vector<MlaToken> tokens_;
  tensor::Matrix<float> out_;
};

void ExpectDefinition(const Sequence& sequence, std::size_t first, Shape shape,
                      MatrixView<const float> out) {
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const std::vector<double> expected = sequence.Expected(first + i, head);
      for (std::size_t d = 0; d < shape.latent; ++d) {
        ASSERT_NEAR(static_cast<double>(out.Row(i)[head * shape.latent + d]), expected[d], 2e-5)
            << "token " << first + i << ", head " << head << ", element " << d;
      }
    }
  }
}

TEST_P(AttentionTest, MatchesTheDefinitionInAPrompt) {
  for (const KvDType dtype : {KvDType::kBf16, KvDType::kF32}) {
    for (const Shape shape : {Shape{4, 32, 16, dtype}, Shape{3, 48, 8, dtype},
                              Shape{1, 20, 6, dtype}, Shape{16, 64, 32, dtype}}) {
      Sequence sequence(context(), shape, 70, 1);
      ExpectDefinition(sequence, 0, shape, sequence.Run(context(), 0, 70, 70));
    }
  }
}

TEST_P(AttentionTest, MatchesTheDefinitionAtEdgesOfBlocksAndSegments) {
  const Shape shape;
  Sequence sequence(context(), shape, 800, 2);
  for (const std::size_t token :
       {0U, 1U, 15U, 16U, 62U, 63U, 64U, 254U, 255U, 256U, 257U, 511U, 512U, 767U, 768U, 799U}) {
    ExpectDefinition(sequence, token, shape, sequence.Run(context(), token, 1, 1));
  }
}

TEST_P(AttentionTest, AnyChunkingGivesTheSameBits) {
  const Shape shape{.heads = 5, .latent = 48, .rope = 16};
  const std::size_t length = GetParam() == Isa::kRef ? 300 : 600;
  Sequence sequence(context(), shape, length, 3);
  Sequence same(context(), shape, length, 3);
  const MatrixView<const float> expected = same.Run(context(), 0, length, 1);
  for (const std::size_t chunk : {7U, 64U, 250U, 600U}) {
    SCOPED_TRACE(chunk);
    ExpectSameBits(sequence.Run(context(), 0, length, chunk), expected);
  }
}

TEST_P(AttentionTest, ThreadsDoNotChangeTheResult) {
  const Shape shape{.heads = 16, .latent = 32, .rope = 16};
  for (const std::size_t count : {1U, 3U, 90U}) {
    const auto pool1 = MakePool(1);
    Sequence sequence(context(), shape, 700, 4);
    const MatrixView<const float> expected =
        sequence.Run({&OpsFor(GetParam()), pool1.get()}, 700 - count, count, count);
    for (const int threads : {2, 3}) {
      Sequence same(context(), shape, 700, 4);
      const auto pool = MakePool(threads);
      ExpectSameBits(same.Run({&OpsFor(GetParam()), pool.get()}, 700 - count, count, count),
                     expected);
    }
  }
}

TEST_P(AttentionTest, SequencesOfABatchDoNotTouchEachOther) {
  const Shape shape;
  Sequence a(context(), shape, 300, 5);
  Sequence b(context(), shape, 40, 6);
  const MatrixView<const float> expected_a = a.Run(context(), 298, 2, 2);
  const MatrixView<const float> expected_b = b.Run(context(), 30, 10, 10);
  // Both in one cache: b's blocks after a's.
  const std::size_t block_bytes = a.kv().block_stride_bytes;
  std::vector<std::byte> storage(14 * block_bytes);
  std::memcpy(storage.data(), a.kv().base, 11 * block_bytes);
  std::memcpy(storage.data() + 11 * block_bytes, b.kv().base, 3 * block_bytes);
  const std::vector<std::int32_t> b_blocks = {b.token(0).block_ids[0] + 11};
  std::vector<MlaToken> tokens = {a.token(298), a.token(299)};
  for (std::size_t i = 30; i < 40; ++i) tokens.push_back({b_blocks, i + 1});
  tensor::Matrix<float> unused;
  const MlaArgs args_a = a.Args(298, 2, unused.Resize(2, 128));
  const MlaArgs args_b = b.Args(30, 10, unused.Resize(10, 128));
  tensor::Matrix<float> q_latent;
  tensor::Matrix<float> q_rope;
  q_latent.Resize(12, 128);
  q_rope.Resize(12, args_a.q_rope.cols);
  for (std::size_t i = 0; i < 12; ++i) {
    const MlaArgs& from = i < 2 ? args_a : args_b;
    const std::size_t row = i < 2 ? i : i - 2;
    std::copy_n(from.q_latent.Row(row), 128, q_latent.view().Row(i));
    std::copy_n(from.q_rope.Row(row), from.q_rope.cols, q_rope.view().Row(i));
  }
  tensor::Matrix<float> out;
  MlaArgs args = args_a;
  args.kv.base = storage.data();
  args.tokens = tokens;
  args.q_latent = q_latent.view();
  args.q_rope = q_rope.view();
  args.out = out.Resize(12, 128);
  AttentionWorkspace workspace;
  MlaAttention(context(), args, workspace);
  ExpectSameBits(out.view().Rows(0, 2), expected_a);
  ExpectSameBits(out.view().Rows(2, 10), expected_b);
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  const Shape shape;
  Sequence sequence(context(), shape, 300, 7);
  for (std::size_t i = 0; i < 300; ++i) {
    for (float& value : sequence.q_latent().view().RowSpan(i)) value *= 1000.0F;
  }
  const MatrixView<const float> out = sequence.Run(context(), 280, 20, 20);
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (const float value : out.RowSpan(i)) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(AttentionTest, NonFiniteQueriesAreNotLost) {
  Sequence sequence(context(), {}, 300, 8);
  sequence.q_latent().view().Row(299)[3] = std::numeric_limits<float>::quiet_NaN();
  const MatrixView<const float> out = sequence.Run(context(), 298, 2, 2);
  EXPECT_TRUE(std::isfinite(out.Row(0)[0]));
  EXPECT_FALSE(std::isfinite(out.Row(1)[0]));
}

TEST_P(AttentionTest, StoreRoundsToNearestEven) {
  std::vector<std::byte> storage(kKvBlockTokens * 5 * 2);
  const PagedKv kv{.base = storage.data(),
                   .block_stride_bytes = storage.size(),
                   .latent = 3,
                   .rope = 2,
                   .dtype = KvDType::kBf16};
  const std::vector<std::int32_t> blocks = {0};
  const MlaToken token{blocks, 64};
  const float latent[] = {1.00390625F, 1.01171875F, -3.4e38F};  // ties to 1 and 1.015625
  const float rope[] = {std::numeric_limits<float>::quiet_NaN(), 1e-41F};
  StoreKv(context(), kv, {&token, 1}, {latent, 1, 3}, {rope, 1, 2});
  for (std::size_t i = 0; i < 5; ++i) {
    tensor::Bf16 stored;
    std::memcpy(&stored, kv.Entry(0, 63) + 2 * i, 2);
    EXPECT_EQ(stored, tensor::ToBf16(i < 3 ? latent[i] : rope[i - 3])) << i;
  }
}

}  // namespace
}  // namespace stoker::kernels
