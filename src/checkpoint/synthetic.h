#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/model_config.h"

namespace stoker::checkpoint {

/// The names that NamedShape knows.
std::vector<std::string> ShapeNames();

/// The configuration of a shape, INT4 as Kimi K2.6 is:
///   tiny              a few hundred kB, with q_lora and YaRN: for tests
///   moonlight         Moonlight-16B-A3B
///   k2-layer          one dense and one MoE layer of Kimi K2.6's true size, full vocabulary
///   kimi-linear-like  26 MoE layers of 256 small experts
/// Errors: kInvalidArgument for another name, with a suggestion.
absl::StatusOr<ModelConfig> NamedShape(std::string_view name);

/// "int4", "fp8" or "bf16". Errors: kInvalidArgument, with a suggestion.
absl::StatusOr<QuantMethod> ParseSyntheticFormat(std::string_view name);

/// What WriteSyntheticCheckpoint makes.
struct SyntheticOptions {
  /// The shape. Its tokens are replaced by those of the byte-level tokenizer that is written along.
  ModelConfig config;
  QuantMethod format = QuantMethod::kInt4PackQuantized;
  std::uint64_t seed = 0;
  /// Shards hold at most this many bytes of tensors, or one larger tensor.
  std::uint64_t max_shard_bytes = std::uint64_t{4} << 30;
  int threads = 1;
  /// Called now and then, from one thread at a time, with bytes written and bytes in all. False
  /// cancels.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

/// Bytes of the shards that WriteSyntheticCheckpoint would write.
std::uint64_t SyntheticCheckpointBytes(const SyntheticOptions& options);

/// Writes a checkpoint of random weights: shards, their index, config.json, and a tokenizer of 256
/// single bytes and Kimi's special tokens. The same options but for `threads` and
/// `max_shard_bytes` give the same weights on every machine. Weights are scaled so that activations
/// stay near 1: every token's logits are finite, and routing is near uniform.
///
/// config.json comes last, so what is cut short never opens as a checkpoint; on any error what was
/// written is removed. Takes 8 MiB of memory a thread beside the list of tensors.
/// Errors: kFailedPrecondition when `dir` has files in it, kResourceExhausted when the disk is too
/// small, kInvalidArgument for a vocabulary below 512, kCancelled, and those of the disk.
absl::Status WriteSyntheticCheckpoint(const SyntheticOptions& options,
                                      const std::filesystem::path& dir);

}  // namespace stoker::checkpoint
