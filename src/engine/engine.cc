#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/units.h"
#include "sys/memory.h"
#include "sys/topology.h"

namespace stoker::engine {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

double GenerationStats::decode_gb_per_s() const {
  return decode_seconds > 0 ? static_cast<double>(decode_bytes) / decode_seconds / 1e9 : 0.0;
}

void Sequence::Truncate(std::size_t tokens) {
  if (tokens >= cached_.size()) return;
  cached_.resize(tokens);
  blocks_.Truncate(tokens);
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Load(const std::filesystem::path& path,
                                                     const EngineOptions& options,
                                                     const model::LoadProgress& progress) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<Engine> engine(new Engine());
  STOKER_ASSIGN_OR_RETURN(engine->isa_, kernels::ParseIsa(options.isa));
  STOKER_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint,
                          checkpoint::Checkpoint::Open(path));
  const checkpoint::ModelConfig& config = checkpoint.config();
  engine->context_tokens_ = options.context_tokens > 0
                                ? options.context_tokens
                                : std::min(config.max_positions, kDefaultContext);
  if (engine->context_tokens_ > config.max_positions) {
    return InvalidArgument("--context {} is beyond the {} positions of this model",
                           engine->context_tokens_, config.max_positions);
  }
  STOKER_ASSIGN_OR_RETURN(const sys::Topology topology, sys::DetectTopology());
  STOKER_ASSIGN_OR_RETURN(
      engine->pool_, sys::ThreadPool::Create(topology, {.threads = options.threads, .pin = true}));
  const kernels::Context context = {.ops = &kernels::OpsFor(engine->isa_),
                                    .pool = engine->pool_.get()};
  const bool exact = engine->isa_ == kernels::Isa::kRef;
  const kernels::KvDType dtype =
      options.kv_dtype.value_or(exact ? kernels::KvDType::kF32 : kernels::KvDType::kBf16);
  const kv::CacheShape shape = model::DeepseekV3::CacheShapeOf(config, dtype);
  const std::size_t cache_tokens =
      options.cache_tokens > 0 ? options.cache_tokens : engine->context_tokens_;
  engine->prefill_chunk_ = std::max<std::size_t>(1, options.prefill_chunk);
  const model::RunMemory beside = {.cache = shape.bytes_per_token() * cache_tokens,
                                   .workspace = model::DeepseekV3::WorkspaceBytesOf(
                                       config, engine->context_tokens_, engine->prefill_chunk_)};
  STOKER_ASSIGN_OR_RETURN(
      model::ModelWeights weights,
      model::LoadWeights(checkpoint, context,
                         {.exact = exact, .beside = beside, .progress = progress}));
  engine->model_ = std::make_unique<model::DeepseekV3>(config, std::move(weights), context,
                                                       engine->context_tokens_);
  STOKER_ASSIGN_OR_RETURN(kv::PagedCache cache, kv::PagedCache::Create(shape, cache_tokens));
  engine->cache_ = std::make_unique<kv::PagedCache>(std::move(cache));
  engine->load_seconds_ = SecondsSince(start);
  return engine;
}

absl::Status Engine::Validate(const GenerationRequest& request) const {
  if (request.prompt.empty()) return InvalidArgument("the prompt is empty");
  for (const TokenId token : request.prompt) {
    if (static_cast<std::int64_t>(token) < 0 || Index(token) >= config().vocab) {
      return InvalidArgument("the prompt has token {}, but the model's vocabulary has {}",
                             static_cast<std::int64_t>(token), config().vocab);
    }
  }
  if (request.prompt.size() >= context_tokens_) {
    return InvalidArgument(
        "the prompt has {} tokens and the context is {}, which leaves no room for an answer; "
        "shorten it or raise --context (this model allows {})",
        request.prompt.size(), context_tokens_, config().max_positions);
  }
  return request.sampling.Validate(config().vocab);
}

absl::StatusOr<std::span<const float>> Engine::Advance(Sequence& sequence,
                                                       std::span<const TokenId> tokens,
                                                       model::LogitsWanted logits,
                                                       const std::atomic<bool>* cancel) {
  const std::size_t first = sequence.cached_.size();
  STOKER_RETURN_IF_ERROR(sequence.blocks_.Reserve(first + tokens.size()));
  const model::StepSequence step = {.tokens = tokens,
                                    .first_position = first,
                                    .block_ids = sequence.blocks_.block_ids(),
                                    .logits = logits};
  STOKER_ASSIGN_OR_RETURN(const tensor::MatrixView<const float> result,
                          model_->Step({&step, 1}, *cache_, cancel));
  sequence.cached_.insert(sequence.cached_.end(), tokens.begin(), tokens.end());
  if (result.rows == 0) return std::span<const float>();
  return result.RowSpan(result.rows - 1);
}

absl::StatusOr<std::span<const float>> Engine::Prefill(Sequence& sequence,
                                                       std::span<const TokenId> tokens,
                                                       const std::atomic<bool>* cancel,
                                                       const PrefillProgress& progress) {
  const std::size_t total = tokens.size();
  std::span<const float> logits;
  while (!tokens.empty()) {
    const std::size_t count = std::min(prefill_chunk_, tokens.size());
    const bool last = count == tokens.size();
    STOKER_ASSIGN_OR_RETURN(
        logits, Advance(sequence, tokens.first(count),
                        last ? model::LogitsWanted::kLast : model::LogitsWanted::kNone, cancel));
    tokens = tokens.subspan(count);
    if (progress) progress(total - tokens.size(), total);
  }
  return logits;
}

absl::StatusOr<GenerationStats> Engine::Generate(Sequence& sequence,
                                                 const GenerationRequest& request,
                                                 const TokenSink& sink,
                                                 const PrefillProgress& prefill_progress) {
  STOKER_RETURN_IF_ERROR(Validate(request));
  GenerationStats stats;
  stats.prompt_tokens = request.prompt.size();
  const Clock::time_point start = Clock::now();
  const auto [held, wanted] = std::ranges::mismatch(sequence.cached_, request.prompt);
  // The last prompt token must run again even when cached: its logits are what the answer needs.
  stats.cached_tokens = std::min(static_cast<std::size_t>(held - sequence.cached_.begin()),
                                 request.prompt.size() - 1);
  sequence.Truncate(stats.cached_tokens);
  const absl::StatusOr<std::span<const float>> logits =
      Prefill(sequence, std::span(request.prompt).subspan(stats.cached_tokens), request.cancel,
              prefill_progress);
  if (absl::IsCancelled(logits.status())) {
    stats.finish = FinishReason::kCancelled;
    stats.prefill_seconds = SecondsSince(start);
    return stats;
  }
  STOKER_RETURN_IF_ERROR(logits.status());
  stats.prefill_seconds = SecondsSince(start);
  STOKER_RETURN_IF_ERROR(Decode(sequence, request, *logits, sink, stats));
  return stats;
}

absl::Status Engine::Decode(Sequence& sequence, const GenerationRequest& request,
                            std::span<const float> logits, const TokenSink& sink,
                            GenerationStats& stats) {
  Sampler sampler(request.sampling);
  for (const TokenId token : request.prompt) sampler.ObservePrompt(token);
  const std::size_t room = context_tokens_ - request.prompt.size();
  const std::size_t limit = request.max_tokens > 0 ? std::min(request.max_tokens, room) : room;
  stats.finish = FinishReason::kLength;
  while (stats.answer_tokens < limit) {
    const std::size_t position = sequence.cached_.size();
    STOKER_ASSIGN_OR_RETURN(const SampledToken sampled, sampler.Sample(logits, position));
    ++stats.answer_tokens;
    sampler.ObserveAnswer(sampled.token);
    const bool wants_more = sink(sampled);
    if (!wants_more ||
        std::ranges::find(request.stop_tokens, sampled.token) != request.stop_tokens.end()) {
      stats.finish = FinishReason::kStop;
      break;
    }
    if (stats.answer_tokens == limit) break;
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<std::span<const float>> next =
        Advance(sequence, {&sampled.token, 1}, model::LogitsWanted::kLast, request.cancel);
    if (absl::IsCancelled(next.status())) {
      stats.finish = FinishReason::kCancelled;
      break;
    }
    STOKER_RETURN_IF_ERROR(next.status());
    logits = *next;
    stats.decode_seconds += SecondsSince(start);
    stats.decode_bytes += model_->last_step_bytes().total();
    ++stats.decode_steps;
  }
  return absl::OkStatus();
}

}  // namespace stoker::engine
