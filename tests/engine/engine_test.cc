#include "engine/engine.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"

namespace stoker::engine {
namespace {

namespace fs = std::filesystem;

fs::path TinyModel() {
  return testing::SourcePath("tests/golden/oracle/int4_nested");
}

std::unique_ptr<Engine> LoadTiny(EngineOptions options = {}) {
  options.threads = 2;
  auto engine = Engine::Load(TinyModel(), options, {});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

std::vector<TokenId> Tokens(std::size_t count, std::int32_t first = 2) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(TokenId{static_cast<std::int32_t>((i * 7 + i / 3) % 90) + first});
  }
  return tokens;
}

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<SampledToken> drawn;
  GenerationStats stats;
};

absl::StatusOr<Answer> Answered(Engine& engine, Sequence& sequence,
                                const GenerationRequest& request) {
  Answer answer;
  auto stats = engine.Generate(sequence, request, [&](const SampledToken& token) {
    answer.tokens.push_back(token.token);
    answer.drawn.push_back(token);
    return true;
  });
  if (!stats.ok()) return stats.status();
  answer.stats = *stats;
  return answer;
}

Answer MustRun(Engine& engine, Sequence& sequence, const GenerationRequest& request) {
  auto answer = Answered(engine, sequence, request);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return *answer;
}

TEST(Engine, AnswersAndCounts) {
  const auto engine = LoadTiny();
  Sequence sequence = engine->NewSequence();
  const Answer answer = MustRun(*engine, sequence, {.prompt = Tokens(20), .max_tokens = 9});
  EXPECT_EQ(answer.tokens.size(), 9U);
  EXPECT_EQ(answer.stats.finish, FinishReason::kLength);
  EXPECT_EQ(answer.stats.prompt_tokens, 20U);
  EXPECT_EQ(answer.stats.cached_tokens, 0U);
  EXPECT_EQ(answer.stats.decode_steps, 8U);
  EXPECT_GT(answer.stats.decode_bytes, 8 * 10'000U);
}

// Bits, over the whole vocabulary.
void ExpectSameLogprobs(const Answer& a, const Answer& b) {
  ASSERT_EQ(a.drawn.size(), b.drawn.size());
  for (std::size_t i = 0; i < a.drawn.size(); ++i) {
    ASSERT_EQ(a.drawn[i].token, b.drawn[i].token);
    ASSERT_EQ(a.drawn[i].top_logprobs.size(), b.drawn[i].top_logprobs.size());
    for (std::size_t k = 0; k < a.drawn[i].top_logprobs.size(); ++k) {
      ASSERT_EQ(a.drawn[i].top_logprobs[k].token, b.drawn[i].top_logprobs[k].token);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(a.drawn[i].top_logprobs[k].logprob),
                std::bit_cast<std::uint32_t>(b.drawn[i].top_logprobs[k].logprob));
    }
  }
}

TEST(Engine, AHeldPrefixIsReusedAndChangesNothing) {
  const auto engine = LoadTiny();
  std::vector<TokenId> prompt = Tokens(150);
  Sequence first = engine->NewSequence();
  MustRun(*engine, first, {.prompt = prompt, .max_tokens = 5});
  prompt.resize(130);
  prompt.back() = TokenId{1};
  const GenerationRequest request = {
      .prompt = prompt, .sampling = {.top_logprobs = 20}, .max_tokens = 20};
  const Answer resumed = MustRun(*engine, first, request);
  EXPECT_EQ(resumed.stats.cached_tokens, 129U);
  Sequence fresh = engine->NewSequence();
  const Answer anew = MustRun(*engine, fresh, request);
  EXPECT_EQ(anew.stats.cached_tokens, 0U);
  EXPECT_EQ(resumed.tokens, anew.tokens);
  EXPECT_EQ(anew.drawn.front().top_logprobs.size(), 20U);
  ExpectSameLogprobs(resumed, anew);
}

TEST(Engine, TheSamePromptAgainRunsItsLastTokenOnly) {
  const auto engine = LoadTiny();
  Sequence sequence = engine->NewSequence();
  const GenerationRequest request = {.prompt = Tokens(40), .max_tokens = 3};
  const Answer first = MustRun(*engine, sequence, request);
  const Answer again = MustRun(*engine, sequence, request);
  EXPECT_EQ(again.stats.cached_tokens, 39U);
  EXPECT_EQ(first.tokens, again.tokens);
}

TEST(Engine, StopTokensAndTheSinkEndTheAnswer) {
  const auto engine = LoadTiny();
  Sequence sequence = engine->NewSequence();
  const Answer all = MustRun(*engine, sequence, {.prompt = Tokens(20), .max_tokens = 9});
  const Answer stopped = MustRun(
      *engine, sequence, {.prompt = Tokens(20), .max_tokens = 9, .stop_tokens = {all.tokens[2]}});
  EXPECT_LE(stopped.tokens.size(), 3U);
  EXPECT_EQ(stopped.tokens.back(), all.tokens[2]);
  EXPECT_EQ(stopped.stats.finish, FinishReason::kStop);
  int seen = 0;
  const auto stats = engine->Generate(sequence, {.prompt = Tokens(20), .max_tokens = 9},
                                      [&](const SampledToken&) { return ++seen < 4; });
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->answer_tokens, 4U);
}

TEST(Engine, ContextEndsTheAnswer) {
  const auto engine = LoadTiny({.context_tokens = 64});
  Sequence sequence = engine->NewSequence();
  const Answer answer = MustRun(*engine, sequence, {.prompt = Tokens(60)});
  EXPECT_EQ(answer.tokens.size(), 4U);
  EXPECT_EQ(answer.stats.finish, FinishReason::kLength);
  const Answer edge = MustRun(*engine, sequence, {.prompt = Tokens(63)});
  EXPECT_EQ(edge.tokens.size(), 1U);
}

TEST(Engine, BadRequestsAreNamedAndTheEngineGoesOn) {
  const auto engine = LoadTiny({.context_tokens = 64});
  Sequence sequence = engine->NewSequence();
  const std::vector<std::pair<GenerationRequest, const char*>> cases = {
      {{.prompt = {}}, "the prompt is empty"},
      {{.prompt = Tokens(64)}, "64 tokens and the context is 64"},
      {{.prompt = {TokenId{100}}}, "token 100"},
      {{.prompt = {TokenId{-1}}}, "token -1"},
      {{.prompt = Tokens(3), .sampling = {.top_p = 0}}, "top_p"},
  };
  for (const auto& [request, message] : cases) {
    const auto answer = Answered(*engine, sequence, request);
    ASSERT_FALSE(answer.ok()) << message;
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(answer.status().message().find(message), std::string::npos) << answer.status();
  }
  EXPECT_TRUE(Answered(*engine, sequence, {.prompt = Tokens(3), .max_tokens = 2}).ok());
}

TEST(Engine, CancelStopsWithinAStep) {
  const auto engine = LoadTiny({.prefill_chunk = 16});
  Sequence sequence = engine->NewSequence();
  std::atomic<bool> cancel{true};
  const GenerationRequest request = {.prompt = Tokens(100), .cancel = &cancel};
  const Answer before = MustRun(*engine, sequence, request);
  EXPECT_EQ(before.stats.finish, FinishReason::kCancelled);
  EXPECT_TRUE(before.tokens.empty());
  cancel = false;
  int seen = 0;
  const auto stats = engine->Generate(sequence, request, [&](const SampledToken&) {
    if (++seen == 5) cancel = true;
    return true;
  });
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->finish, FinishReason::kCancelled);
  EXPECT_EQ(stats->answer_tokens, 5U);
}

TEST(Engine, WhatDoesNotFitIsRefusedWithTheArithmetic) {
  const auto engine =
      Engine::Load(TinyModel(), {.threads = 1, .cache_tokens = std::size_t{1} << 36}, {});
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kResourceExhausted);
  for (const char* part : {"weights", "KV cache", "workspace", "available", "--context"}) {
    EXPECT_NE(engine.status().message().find(part), std::string::npos) << engine.status();
  }
}

TEST(Engine, ContextBeyondTheModelIsRefused) {
  const auto engine = Engine::Load(TinyModel(), {.threads = 1, .context_tokens = 513}, {});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("512 positions"), std::string::npos) << engine.status();
}

TEST(Engine, AFullCacheFailsTheRequestAndGivesItsBlocksBack) {
  const auto engine = LoadTiny({.context_tokens = 512, .cache_tokens = 128});
  {
    Sequence sequence = engine->NewSequence();
    const auto answer = Answered(*engine, sequence, {.prompt = Tokens(120), .max_tokens = 50});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(engine->cache().free_blocks(), 2U);
}

// Replaces a BF16 tensor of a safetensors file: 8 bytes of the header's length, the header, data.
void OverwriteWithNan(const fs::path& shard, const std::string& tensor) {
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  std::uint64_t header_bytes = 0;
  file.read(reinterpret_cast<char*>(&header_bytes), sizeof(header_bytes));
  std::string header(header_bytes, ' ');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  const auto offsets = nlohmann::json::parse(header)
                           .at(tensor)
                           .at("data_offsets")
                           .get<std::array<std::uint64_t, 2>>();
  file.seekp(static_cast<std::streamoff>(sizeof(header_bytes) + header_bytes + offsets[0]));
  for (std::uint64_t at = offsets[0]; at < offsets[1]; at += 2) file.write("\xc0\x7f", 2);
}

TEST(Engine, NonFiniteLogitsFailTheRequest) {
  const testing::ScratchDir scratch;
  fs::copy(testing::SourcePath("tests/golden/oracle/bf16_q_lora_yarn"), scratch.path(),
           fs::copy_options::recursive);
  OverwriteWithNan(scratch / "model.safetensors", "lm_head.weight");
  auto engine = Engine::Load(scratch.path(), {.threads = 1}, {});
  ASSERT_TRUE(engine.ok()) << engine.status();
  Sequence sequence = (*engine)->NewSequence();
  const auto answer = Answered(**engine, sequence, {.prompt = Tokens(10), .max_tokens = 2});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(answer.status().message().find("not finite"), std::string::npos) << answer.status();
}

TEST(Engine, LoadingReportsProgressAndCanBeGivenUp) {
  std::size_t last = 0;
  const auto loaded = Engine::Load(TinyModel(), {.threads = 1}, [&](std::size_t done, std::size_t) {
    last = done;
    return true;
  });
  EXPECT_TRUE(loaded.ok());
  EXPECT_GT(last, 0U);
  const auto given_up =
      Engine::Load(TinyModel(), {.threads = 1}, [](std::size_t, std::size_t) { return false; });
  EXPECT_EQ(given_up.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace stoker::engine
