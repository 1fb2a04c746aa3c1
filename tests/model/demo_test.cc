// The demo model's held-out text in the default kernels against transformers in float32 on the same
// INT4 weights, made by tools/demo_model/evaluate.py.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/isa.h"
#include "kernels/op_table.h"
#include "kv/paged_cache.h"
#include "model/deepseek_v3.h"
#include "sys/thread_pool.h"
#include "sys/topology.h"
#include "tests/model/golden_tensors.h"
#include "tests/support/paths.h"

namespace stoker::model {
namespace {

struct Distance {
  std::size_t tokens = 0;
  std::size_t same_top = 0;
  double kl_sum = 0;
};

double LogSumExp(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

// KL(reference || ours), where the tokens outside the reference's best ones count as one outcome.
double Divergence(std::span<const float> row, std::span<const std::int32_t> ids,
                  std::span<const float> logprobs) {
  const double total = LogSumExp(row);
  double kl = 0;
  double rest = 1;
  double our_rest = 1;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double p = std::exp(static_cast<double>(logprobs[i]));
    const double our_logprob = row[static_cast<std::size_t>(ids[i])] - total;
    kl += p * (static_cast<double>(logprobs[i]) - our_logprob);
    rest -= p;
    our_rest -= std::exp(our_logprob);
  }
  return rest > 1e-9 && our_rest > 1e-9 ? kl + rest * std::log(rest / our_rest) : kl;
}

// Runs the first held-out sequences, one a domain, and compares each position.
void Compare(kernels::Isa isa, kernels::KvDType kv_dtype, std::size_t sequences,
             Distance& distance) {
  auto golden = GoldenTensors::Open(testing::SourcePath("tests/golden/demo/heldout.safetensors"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  const auto shape = golden->Shape("top_ids");  // [sequences, length, best]
  const auto tokens = golden->Values<std::int32_t>("tokens");
  const auto ids = golden->Values<std::int32_t>("top_ids");
  const auto logprobs = golden->Values<float>("top_logprobs");

  sys::ThreadPool pool(*sys::DetectTopology(), {.threads = 2, .pin = false});
  const kernels::Context context = {.ops = &kernels::OpsFor(isa), .pool = &pool};
  auto checkpoint = checkpoint::Checkpoint::Open(testing::SourcePath("models/demo"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  auto weights = LoadWeights(*checkpoint, context, {.exact = isa == kernels::Isa::kRef});
  ASSERT_TRUE(weights.ok()) << weights.status();
  DeepseekV3 model(checkpoint->config(), *std::move(weights), context, shape[1]);
  auto cache = kv::PagedCache::Create(model.CacheShape(kv_dtype), 1024);
  ASSERT_TRUE(cache.ok()) << cache.status();

  for (std::size_t sequence = 0; sequence < std::min(sequences, shape[0]); ++sequence) {
    std::vector<TokenId> step_tokens;
    for (std::size_t i = 0; i < shape[1]; ++i) {
      step_tokens.push_back(TokenId{tokens[sequence * shape[1] + i]});
    }
    kv::BlockTable blocks(*cache);
    ASSERT_TRUE(blocks.Reserve(step_tokens.size()).ok());
    const StepSequence step = {.tokens = step_tokens,
                               .first_position = 0,
                               .block_ids = blocks.block_ids(),
                               .logits = LogitsWanted::kAll};
    auto logits = model.Step({&step, 1}, *cache);
    ASSERT_TRUE(logits.ok()) << logits.status();
    for (std::size_t i = 0; i < shape[1]; ++i) {
      const std::size_t at = (sequence * shape[1] + i) * shape[2];
      const std::span<const float> row(logits->Row(i), logits->cols);
      const auto top = std::ranges::max_element(row) - row.begin();
      ++distance.tokens;
      distance.same_top += top == ids[at] ? 1 : 0;
      distance.kl_sum += Divergence(row, std::span(ids).subspan(at, shape[2]),
                                    std::span(logprobs).subspan(at, shape[2]));
    }
  }
}

TEST(Demo, ReferenceKernelsGiveTransformersPredictions) {
  Distance distance;
  Compare(kernels::Isa::kRef, kernels::KvDType::kF32, 2, distance);
  ASSERT_EQ(distance.tokens, 400U);
  EXPECT_GE(distance.same_top, 399U);
  EXPECT_LE(distance.kl_sum / static_cast<double>(distance.tokens), 1e-6);
}

TEST(Demo, DefaultKernelsPredictAsTransformersDoes) {
  Distance distance;
  Compare(kernels::SupportedIsas().front(), kernels::KvDType::kBf16, 10, distance);
  ASSERT_EQ(distance.tokens, 2000U);
  EXPECT_GE(distance.same_top, distance.tokens * 99 / 100);
  EXPECT_LE(distance.kl_sum / static_cast<double>(distance.tokens), 0.01);
}

TEST(Demo, EveryInstructionSetStaysNear) {
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    SCOPED_TRACE(kernels::Name(isa));
    Distance distance;
    Compare(isa, kernels::KvDType::kBf16, 2, distance);
    ASSERT_EQ(distance.tokens, 400U);
    EXPECT_LE(distance.kl_sum / static_cast<double>(distance.tokens), 0.01);
  }
}

}  // namespace
}  // namespace stoker::model
