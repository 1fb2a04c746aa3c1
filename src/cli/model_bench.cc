#include "cli/model_bench.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "cli/interrupt.h"
#include "cli/load_options.h"
#include "cli/progress.h"
#include "kernels/isa.h"
#include "model/step.h"

namespace stoker::cli {
namespace {

constexpr int kPeakPasses = 2;
constexpr std::size_t kWarmUpSteps = 2;
constexpr std::size_t kFillChunk = 512;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status CheckInterrupt() {
  return InterruptFlag().load() ? Cancelled("stopped") : absl::OkStatus();
}

}  // namespace

std::size_t CacheTokens(std::size_t sequences, std::size_t tokens) {
  const std::size_t block = kernels::kKvBlockTokens;
  return sequences * ((tokens + block - 1) / block * block);
}

absl::StatusOr<std::unique_ptr<ModelBench>> ModelBench::Load(const std::filesystem::path& model,
                                                             const engine::EngineOptions& options,
                                                             const Console& console) {
  STOKER_ASSIGN_OR_RETURN(const checkpoint::Checkpoint weights,
                          checkpoint::Checkpoint::Open(model));
  STOKER_ASSIGN_OR_RETURN(std::unique_ptr<engine::Engine> engine,
                          LoadEngine(model, options, console));
  STOKER_ASSIGN_OR_RETURN(sys::ReadBandwidth reader, sys::ReadBandwidth::Create(engine->pool()));
  return std::unique_ptr<ModelBench>(
      new ModelBench(std::move(engine), std::move(reader), weights.tensor_bytes()));
}

BenchRun ModelBench::Describe() const {
  return {.load_seconds = engine_->load_seconds(),
          .loaded_bytes = engine_->model().weights().loaded_bytes(),
          .weight_bytes = weight_bytes_,
          .peak_bytes_per_s = peak_bytes_per_s_,
          .threads = engine_->threads(),
          .isa = std::string(kernels::Name(engine_->isa())),
          .whole_model = std::nullopt};
}

std::vector<TokenId> ModelBench::RandomTokens(std::size_t count) {
  std::vector<TokenId> tokens;
  tokens.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(TokenId{static_cast<std::int32_t>(random_() % config().vocab)});
  }
  return tokens;
}

double ModelBench::MeasurePeak() {
  const double peak = reader_.Measure(kPeakPasses);
  peak_bytes_per_s_ = std::max(peak_bytes_per_s_, peak);
  return peak;
}

absl::StatusOr<std::uint64_t> ModelBench::Fill(std::size_t tokens, std::size_t chunk,
                                               kv::BlockTable& blocks) {
  STOKER_RETURN_IF_ERROR(blocks.Reserve(tokens));
  const std::vector<TokenId> ids = RandomTokens(tokens);
  std::uint64_t bytes = 0;
  for (std::size_t first = 0; first < tokens; first += chunk) {
    STOKER_RETURN_IF_ERROR(CheckInterrupt());
    const std::size_t count = std::min(chunk, tokens - first);
    const model::StepSequence step = {.tokens = std::span(ids).subspan(first, count),
                                      .first_position = first,
                                      .block_ids = blocks.block_ids(),
                                      .logits = first + count == tokens
                                                    ? model::LogitsWanted::kLast
                                                    : model::LogitsWanted::kNone};
    STOKER_RETURN_IF_ERROR(engine_->model().Step({&step, 1}, engine_->cache()).status());
    bytes += engine_->model().last_step_bytes().total();
  }
  return bytes;
}

absl::StatusOr<std::vector<kv::BlockTable>> ModelBench::MakeSequences(std::size_t count,
                                                                      std::size_t context_tokens) {
  std::vector<kv::BlockTable> sequences;
  for (std::size_t i = 0; i < count; ++i) {
    kv::BlockTable& blocks = sequences.emplace_back(engine_->cache());
    STOKER_RETURN_IF_ERROR(blocks.Reserve(context_tokens + 1));
  }
  STOKER_RETURN_IF_ERROR(Fill(context_tokens, kFillChunk, sequences.front()).status());
  const std::span<const std::int32_t> filled = sequences.front().block_ids();
  for (std::size_t i = 1; i < count; ++i) {
    const std::span<const std::int32_t> own = sequences[i].block_ids();
    for (std::size_t block = 0; block < filled.size(); ++block) {
      engine_->cache().CopyBlock(filled[block], own[block]);
    }
  }
  return sequences;
}

absl::StatusOr<std::vector<BenchRow>> ModelBench::Decode(const DecodePlan& plan,
                                                         const Console& console) {
  STOKER_ASSIGN_OR_RETURN(const std::vector<kv::BlockTable> sequences,
                          MakeSequences(std::ranges::max(plan.batches), plan.context_tokens));
  ProgressBar bar(console, "measuring", ProgressUnit::kTokens);
  std::vector<BenchRow> rows;
  for (const std::size_t batch : plan.batches) {
    bar.Update(rows.size(), plan.batches.size());
    STOKER_ASSIGN_OR_RETURN(const BenchRow row, DecodeRow(batch, plan, sequences));
    rows.push_back(row);
  }
  return rows;
}

absl::StatusOr<BenchRow> ModelBench::DecodeRow(std::size_t batch, const DecodePlan& plan,
                                               const std::vector<kv::BlockTable>& sequences) {
  const double peak_before = MeasurePeak();
  model::DeepseekV3& model = engine_->model();
  StepClock clock(model);
  std::vector<PartCost> costs;
  std::vector<model::StepSequence> step(batch);
  for (std::size_t index = 0; index < kWarmUpSteps + plan.steps; ++index) {
    STOKER_RETURN_IF_ERROR(CheckInterrupt());
    const std::vector<TokenId> tokens = RandomTokens(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      // The same position each time, so that every step has the same work.
      step[i] = {.tokens = std::span(tokens).subspan(i, 1),
                 .first_position = plan.context_tokens,
                 .block_ids = sequences[i].block_ids(),
                 .logits = model::LogitsWanted::kLast};
    }
    const bool counts = index >= kWarmUpSteps;
    if (counts && plan.whole_model) model.set_layer_observer(&clock);
    const Clock::time_point start = Clock::now();
    clock.Begin();
    const absl::Status status = model.Step(step, engine_->cache()).status();
    model.set_layer_observer(nullptr);
    STOKER_RETURN_IF_ERROR(status);
    if (!counts) continue;
    costs.push_back({.seconds = SecondsSince(start), .bytes = model.last_step_bytes().total()});
    if (plan.whole_model) clock.End();
  }
  const PartCost median = MedianCost(std::move(costs));
  BenchRow row = {.tokens = batch,
                  .seconds = median.seconds,
                  .bytes = median.bytes,
                  .peak_bytes_per_s = std::max(peak_before, MeasurePeak()),
                  .whole_model = std::nullopt};
  if (plan.whole_model) row.whole_model = WholeModelStep(clock.Costs(), *plan.whole_model);
  return row;
}

absl::StatusOr<BenchRow> ModelBench::Prefill(std::size_t tokens, std::size_t chunk,
                                             std::size_t repeats) {
  std::vector<PartCost> costs;
  double peak = MeasurePeak();
  // The first pass makes room for activations and is not counted.
  for (std::size_t repeat = 0; repeat <= repeats; ++repeat) {
    kv::BlockTable blocks(engine_->cache());
    const Clock::time_point start = Clock::now();
    STOKER_ASSIGN_OR_RETURN(const std::uint64_t bytes, Fill(tokens, chunk, blocks));
    if (repeat > 0) costs.push_back({.seconds = SecondsSince(start), .bytes = bytes});
    peak = std::max(peak, MeasurePeak());
  }
  const PartCost median = MedianCost(std::move(costs));
  return BenchRow{.tokens = tokens,
                  .seconds = median.seconds,
                  .bytes = median.bytes,
                  .peak_bytes_per_s = peak,
                  .whole_model = std::nullopt};
}

}  // namespace stoker::cli
