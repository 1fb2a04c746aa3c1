#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "cli/bench_rows.h"
#include "cli/console.h"
#include "engine/engine.h"
#include "kv/paged_cache.h"
#include "sys/bandwidth.h"

namespace stoker::cli {

/// Drives the steps of a loaded model and measures them. Tokens are random, from a fixed seed, so
/// that the experts chosen are spread as widely as the router spreads them. Ctrl-C ends any
/// measurement (kCancelled).
class ModelBench {
 public:
  /// Loads the model with room for what will be measured. Errors: as Engine::Load.
  static absl::StatusOr<std::unique_ptr<ModelBench>> Load(const std::filesystem::path& model,
                                                          const engine::EngineOptions& options,
                                                          const Console& console);

  struct DecodePlan {
    std::vector<std::size_t> batches;
    std::size_t context_tokens = 0;  ///< that each sequence holds before the step
    std::size_t steps = 0;
    std::optional<LayerCounts> whole_model;
  };
  /// One row a batch size.
  absl::StatusOr<std::vector<BenchRow>> Decode(const DecodePlan& plan, const Console& console);

  /// One row: a prompt of `tokens` tokens in steps of at most `chunk`; median of `repeats`.
  absl::StatusOr<BenchRow> Prefill(std::size_t tokens, std::size_t chunk, std::size_t repeats);

  [[nodiscard]] BenchRun Describe() const;
  [[nodiscard]] const checkpoint::ModelConfig& config() const { return engine_->config(); }

 private:
  ModelBench(std::unique_ptr<engine::Engine> engine, sys::ReadBandwidth reader,
             std::uint64_t weight_bytes)
      : engine_(std::move(engine)), reader_(std::move(reader)), weight_bytes_(weight_bytes) {}

  std::vector<TokenId> RandomTokens(std::size_t count);
  double MeasurePeak();
  /// Puts `tokens` random tokens into the cache behind `blocks`. Returns the bytes it read.
  absl::StatusOr<std::uint64_t> Fill(std::size_t tokens, std::size_t chunk, kv::BlockTable& blocks);
  /// Sequences of `context_tokens` tokens, with room for one more.
  absl::StatusOr<std::vector<kv::BlockTable>> MakeSequences(std::size_t count,
                                                            std::size_t context_tokens);
  absl::StatusOr<BenchRow> DecodeRow(std::size_t batch, const DecodePlan& plan,
                                     const std::vector<kv::BlockTable>& sequences);

  std::unique_ptr<engine::Engine> engine_;
  sys::ReadBandwidth reader_;
  std::uint64_t weight_bytes_;
  double peak_bytes_per_s_ = 0.0;
  std::mt19937_64 random_{1};
};

/// Tokens of cache that `sequences` sequences of `tokens` tokens take, in whole blocks. Pure.
std::size_t CacheTokens(std::size_t sequences, std::size_t tokens);

}  // namespace stoker::cli
