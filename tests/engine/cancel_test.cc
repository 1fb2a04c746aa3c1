// Ctrl-C in the middle of a step: what was in the cache stays as it was.

#include <atomic>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"

namespace stoker::engine {
namespace {

std::unique_ptr<Engine> LoadTiny() {
  auto engine = Engine::Load(testing::SourcePath("tests/golden/oracle/int4_nested"),
                             {.threads = 2, .context_tokens = 256}, {});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

std::vector<TokenId> Tokens(std::size_t count) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(TokenId{static_cast<std::int32_t>((i * 7) % 90 + 2)});
  }
  return tokens;
}

// Sets a flag when a layer has been done so many times.
class CancelAfter final : public model::LayerObserver {
 public:
  explicit CancelAfter(int layers) : left_(layers) {}

  void OnEmbedded() override {}
  void OnLayerDone(LayerId) override {
    if (--left_ == 0) flag.store(true);
  }

  std::atomic<bool> flag{false};

 private:
  int left_;
};

// The answer of three greedy tokens, and whether it was cut off.
struct Outcome {
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::kStop;
};

Outcome Answer(Engine& engine, Sequence& sequence, std::size_t prompt_tokens,
               const std::atomic<bool>* cancel) {
  GenerationRequest request;
  request.prompt = Tokens(prompt_tokens);
  request.sampling.temperature = 0.0;
  request.max_tokens = 3;
  request.cancel = cancel;
  Outcome outcome;
  const auto stats = engine.Generate(sequence, request, [&](const SampledToken& token) {
    outcome.tokens.push_back(token.token);
    return true;
  });
  EXPECT_TRUE(stats.ok()) << stats.status();
  outcome.finish = stats->finish;
  return outcome;
}

TEST(Cancel, APromptIsGivenUpAfterTheLayerThatRuns) {
  const auto engine = LoadTiny();
  Sequence sequence = engine->NewSequence();
  CancelAfter first_layer(1);
  engine->model().set_layer_observer(&first_layer);
  const Outcome outcome = Answer(*engine, sequence, 40, &first_layer.flag);
  engine->model().set_layer_observer(nullptr);
  EXPECT_EQ(outcome.finish, FinishReason::kCancelled);
  EXPECT_TRUE(outcome.tokens.empty());
  EXPECT_TRUE(sequence.cached_tokens().empty());
}

TEST(Cancel, TheNextAnswerIsAsIfNothingHadBeenStopped) {
  const auto engine = LoadTiny();
  Sequence undisturbed = engine->NewSequence();
  const Outcome wanted = Answer(*engine, undisturbed, 40, nullptr);

  Sequence sequence = engine->NewSequence();
  Answer(*engine, sequence, 20, nullptr);
  CancelAfter first_layer(1);
  engine->model().set_layer_observer(&first_layer);
  EXPECT_EQ(Answer(*engine, sequence, 40, &first_layer.flag).finish, FinishReason::kCancelled);
  engine->model().set_layer_observer(nullptr);
  EXPECT_EQ(Answer(*engine, sequence, 40, nullptr).tokens, wanted.tokens);
}

TEST(Cancel, ADecodeStepEndsWithTheTokensDrawnSoFar) {
  const auto engine = LoadTiny();
  const auto layers = static_cast<int>(engine->config().layers);
  Sequence sequence = engine->NewSequence();
  CancelAfter in_first_decode_step(layers + 1);
  engine->model().set_layer_observer(&in_first_decode_step);
  const Outcome outcome = Answer(*engine, sequence, 40, &in_first_decode_step.flag);
  engine->model().set_layer_observer(nullptr);
  EXPECT_EQ(outcome.finish, FinishReason::kCancelled);
  EXPECT_EQ(outcome.tokens.size(), 1U);
  EXPECT_EQ(sequence.cached_tokens().size(), 40U);
}

}  // namespace
}  // namespace stoker::engine
