// Logits and routing against transformers' DeepSeek-V3 in float32 (I4), on the tiny checkpoints
// that tools/oracle makes.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "gtest/gtest.h"
#include "kernels/context.h"
#include "kv/paged_cache.h"
#include "model/deepseek_v3.h"
#include "sys/thread_pool.h"
#include "sys/topology.h"
#include "tests/model/golden_tensors.h"
#include "tests/support/paths.h"

namespace stoker::model {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Variants() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(testing::SourcePath("tests/golden/oracle"))) {
    if (fs::exists(entry.path() / "golden.safetensors")) names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

// Keeps what the router chose, as [moe layer][token][slot].
class RoutingRecord final : public RoutingObserver {
 public:
  void OnRouting(LayerId, tensor::MatrixView<const std::int32_t> ids,
                 tensor::MatrixView<const float> weights) override {
    for (std::size_t token = 0; token < ids.rows; ++token) {
      ids_.insert(ids_.end(), ids.Row(token), ids.Row(token) + ids.cols);
      weights_.insert(weights_.end(), weights.Row(token), weights.Row(token) + weights.cols);
    }
  }
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;
};

class Golden : public ::testing::TestWithParam<std::string> {
 protected:
  // Loads the variant's checkpoint with the given kernels and runs its first sequences.
  void Run(kernels::Isa isa, kernels::KvDType kv_dtype) {
    const fs::path dir = testing::SourcePath("tests/golden/oracle/" + GetParam());
    auto golden = GoldenTensors::Open(dir / "golden.safetensors");
    ASSERT_TRUE(golden.ok()) << golden.status();
    const auto shape = golden->Shape("tokens");
    const auto ids = golden->Values<std::int32_t>("tokens");
    sys::ThreadPool pool(*sys::DetectTopology(), {.threads = 2, .pin = false});
    const kernels::Context context = {.ops = &kernels::OpsFor(isa), .pool = &pool};
    auto checkpoint = checkpoint::Checkpoint::Open(dir);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    auto weights = LoadWeights(*checkpoint, context, {.exact = isa == kernels::Isa::kRef});
    ASSERT_TRUE(weights.ok()) << weights.status();
    DeepseekV3 model(checkpoint->config(), *std::move(weights), context, shape[1]);
    auto cache = kv::PagedCache::Create(model.CacheShape(kv_dtype), 1024);
    ASSERT_TRUE(cache.ok());
    const std::size_t row = shape[1] * checkpoint->config().vocab;
    const auto wanted = golden->Values<float>("logits");
    for (std::size_t sequence = 0; sequence < shape[0]; ++sequence) {
      std::vector<TokenId> tokens;
      for (std::size_t i = 0; i < shape[1]; ++i) {
        tokens.push_back(TokenId{ids[sequence * shape[1] + i]});
      }
      kv::BlockTable blocks(*cache);
      ASSERT_TRUE(blocks.Reserve(tokens.size()).ok());
      RoutingRecord record;
      model.set_routing_observer(&record);
      const StepSequence step = {.tokens = tokens,
                                 .first_position = 0,
                                 .block_ids = blocks.block_ids(),
                                 .logits = LogitsWanted::kAll};
      auto logits = model.Step({&step, 1}, *cache);
      ASSERT_TRUE(logits.ok()) << logits.status();
      Compare(*logits, std::span(wanted).subspan(sequence * row, row));
      CompareRouting(*golden, sequence, shape[0], record);
    }
  }

  void Compare(tensor::MatrixView<const float> logits, std::span<const float> wanted) {
    ASSERT_EQ(logits.rows * logits.cols, wanted.size());
    logits_ += wanted.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      largest_logit_ = std::max(largest_logit_, std::abs(wanted[i]));
      const float error = std::abs(logits.data[i] - wanted[i]);
      largest_error_ = std::max(largest_error_, error);
      error_sum_ += static_cast<double>(error);
    }
  }

  void CompareRouting(const GoldenTensors& golden, std::size_t sequence, std::size_t sequences,
                      const RoutingRecord& record) {
    const auto ids = golden.Values<std::int32_t>("routing_ids");
    const auto weights = golden.Values<float>("routing_weights");
    ASSERT_EQ(record.ids_.size() * sequences, ids.size());
    const std::size_t top_k = golden.Shape("routing_ids").back();
    const std::size_t offset = sequence * record.ids_.size();
    for (std::size_t i = 0; i < record.ids_.size(); i += top_k) {
      // As sets: the order within a token's choice has no meaning.
      std::vector<std::pair<std::int32_t, float>> ours;
      std::vector<std::pair<std::int32_t, float>> theirs;
      for (std::size_t slot = i; slot < i + top_k; ++slot) {
        ours.emplace_back(record.ids_[slot], record.weights_[slot]);
        theirs.emplace_back(ids[offset + slot], weights[offset + slot]);
      }
      std::ranges::sort(ours);
      std::ranges::sort(theirs);
      for (std::size_t slot = 0; slot < top_k; ++slot) {
        different_choices_ += ours[slot].first != theirs[slot].first ? 1 : 0;
        largest_weight_error_ =
            std::max(largest_weight_error_, std::abs(ours[slot].second - theirs[slot].second));
      }
      choices_ += top_k;
    }
  }

  float largest_logit_ = 0;
  float largest_error_ = 0;
  double error_sum_ = 0;
  std::size_t logits_ = 0;
  float largest_weight_error_ = 0;
  std::size_t choices_ = 0;
  std::size_t different_choices_ = 0;
};

TEST_P(Golden, ReferenceKernelsMatchTransformers) {
  Run(kernels::Isa::kRef, kernels::KvDType::kF32);
  if (HasFatalFailure()) return;
  ASSERT_GT(choices_, 0U);
  EXPECT_LE(largest_error_, 1e-3F * largest_logit_);
  EXPECT_EQ(different_choices_, 0U);
  EXPECT_LE(largest_weight_error_, 1e-4F);
}

TEST_P(Golden, EveryInstructionSetStaysNear) {
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    SCOPED_TRACE(kernels::Name(isa));
    error_sum_ = 0;
    logits_ = 0;
    Run(isa, kernels::KvDType::kBf16);
    if (HasFatalFailure()) return;
    // 8-bit or BF16 activations and BF16 latents: near on average. Random weights leave some tokens
    // between two experts, and a rounding that swaps them moves that token's logits far.
    EXPECT_LE(error_sum_ / static_cast<double>(logits_),
              0.015 * static_cast<double>(largest_logit_));
  }
}

INSTANTIATE_TEST_SUITE_P(Oracle, Golden, ::testing::ValuesIn(Variants()),
                         [](const auto& variant) { return variant.param; });

}  // namespace
}  // namespace stoker::model
