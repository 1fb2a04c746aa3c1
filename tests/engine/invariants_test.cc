// I1 and I2 of the design on whole models: threads, company and chunking are invisible, bit for
// bit.

#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::engine {
namespace {

constexpr std::size_t kPromptTokens = 490;

std::unique_ptr<Engine> Load(const std::string& variant, const std::string& isa, int threads) {
  EngineOptions options = {.threads = threads, .isa = isa, .context_tokens = 512};
  options.cache_tokens = 32 * 512;
  auto engine = Engine::Load(testing::SourcePath("tests/golden/oracle/" + variant), options, {});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

// Distinct per `salt`, so that sequences of a batch route differently.
std::vector<TokenId> Prompt(std::size_t length, std::size_t salt, std::size_t vocab) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < length; ++i) {
    tokens.push_back(TokenId{static_cast<std::int32_t>((i * 31 + salt * 17 + i * i) % vocab)});
  }
  return tokens;
}

// A sequence driven step by step.
class Driver {
 public:
  Driver(Engine& engine, std::vector<TokenId> tokens)
      : engine_(engine), tokens_(std::move(tokens)), blocks_(engine.cache()) {}

  // The next `count` tokens as a part of a step; asked again, the same tokens again.
  model::StepSequence Next(std::size_t count) {
    EXPECT_TRUE(blocks_.Reserve(done_ + count).ok());
    return {.tokens = std::span(tokens_).subspan(done_, count),
            .first_position = done_,
            .block_ids = blocks_.block_ids(),
            .logits = model::LogitsWanted::kAll};
  }

  // Everything up to `end` in chunks; all logits of these tokens.
  std::vector<float> RunTo(std::size_t end, std::size_t chunk) {
    std::vector<float> logits;
    while (done_ < end) {
      const model::StepSequence step = Next(std::min(chunk, end - done_));
      const auto result = engine_.model().Step({&step, 1}, engine_.cache());
      EXPECT_TRUE(result.ok()) << result.status();
      done_ += step.tokens.size();
      for (std::size_t row = 0; row < result->rows; ++row) {
        logits.insert(logits.end(), result->Row(row), result->Row(row) + result->cols);
      }
    }
    return logits;
  }

 private:
  Engine& engine_;
  std::vector<TokenId> tokens_;
  kv::BlockTable blocks_;
  std::size_t done_ = 0;
};

// Bits, not values: a NaN or a signed zero must match too.
::testing::AssertionResult SameBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " vs " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " vs " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

class Invariants : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  std::unique_ptr<Engine> Load(int threads) {
    return engine::Load(std::get<0>(GetParam()), std::get<1>(GetParam()), threads);
  }
};

TEST_P(Invariants, ThreadCountIsInvisible) {
  std::vector<float> alone;
  for (const int threads : {1, 2, 3}) {
    const auto engine = Load(threads);
    Driver driver(*engine, Prompt(200, 1, engine->config().vocab));
    const std::vector<float> logits = driver.RunTo(200, 190);
    if (threads == 1) alone = logits;
    EXPECT_TRUE(SameBits(alone, logits)) << threads << " threads";
  }
}

TEST_P(Invariants, PromptChunkingIsInvisible) {
  const auto engine = Load(2);
  const std::vector<TokenId> prompt = Prompt(kPromptTokens, 2, engine->config().vocab);
  std::vector<float> whole;
  for (const std::size_t chunk : {512U, 64U, 7U, 1U}) {
    Driver driver(*engine, prompt);
    const std::vector<float> logits = driver.RunTo(kPromptTokens, chunk);
    if (chunk == 512) whole = logits;
    EXPECT_TRUE(SameBits(whole, logits)) << "chunks of " << chunk;
  }
}

TEST_P(Invariants, CompanyIsInvisible) {
  constexpr std::size_t kMost = 17;
  const auto engine = Load(2);
  const std::size_t vocab = engine->config().vocab;
  const auto context = [](std::size_t i) { return 3 + 11 * i; };
  std::vector<Driver> drivers;
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < kMost; ++i) {
    drivers.emplace_back(*engine, Prompt(200, i, vocab));
    drivers[i].RunTo(context(i), 64);
    const model::StepSequence step = drivers[i].Next(1);
    const auto logits = engine->model().Step({&step, 1}, engine->cache());
    ASSERT_TRUE(logits.ok()) << logits.status();
    alone.emplace_back(logits->Row(0), logits->Row(0) + vocab);
  }
  for (std::size_t batch = 2; batch <= kMost; ++batch) {
    std::vector<model::StepSequence> steps;
    for (std::size_t i = 0; i < batch; ++i) steps.push_back(drivers[i].Next(1));
    const auto logits = engine->model().Step(steps, engine->cache());
    ASSERT_TRUE(logits.ok()) << logits.status();
    for (std::size_t i = 0; i < batch; ++i) {
      EXPECT_TRUE(SameBits(alone[i], logits->RowSpan(i))) << "sequence " << i << " of " << batch;
    }
  }
}

TEST_P(Invariants, ADecodeIsTheSameBesideAnothersPrompt) {
  const auto engine = Load(2);
  const std::size_t vocab = engine->config().vocab;
  Driver lonely(*engine, Prompt(100, 5, vocab));
  lonely.RunTo(70, 70);
  const std::vector<float> alone = lonely.RunTo(71, 1);
  Driver decoding(*engine, Prompt(100, 5, vocab));
  decoding.RunTo(70, 70);
  Driver prompted(*engine, Prompt(300, 6, vocab));
  const model::StepSequence steps[] = {prompted.Next(123), decoding.Next(1)};
  const auto mixed = engine->model().Step(steps, engine->cache());
  ASSERT_TRUE(mixed.ok());
  EXPECT_TRUE(SameBits(alone, mixed->RowSpan(123)));
}

std::string NameOf(const ::testing::TestParamInfo<Invariants::ParamType>& model) {
  return std::get<0>(model.param) + "_" + std::get<1>(model.param);
}

INSTANTIATE_TEST_SUITE_P(Models, Invariants,
                         ::testing::Combine(::testing::Values("int4_nested", "bf16_groups", "fp8"),
                                            ::testing::Values("auto", "portable", "ref")),
                         NameOf);

}  // namespace
}  // namespace stoker::engine
