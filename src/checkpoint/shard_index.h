#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stoker::checkpoint {

/// What `model.safetensors.index.json` says: the shards, and which of them holds each tensor.
struct ShardIndex {
  struct Location {
    std::string tensor;
    std::size_t shard = 0;  ///< index into `shards`
  };
  std::vector<std::string> shards;  ///< file names, in order of first mention
  std::vector<Location> locations;  ///< empty where there is no index file
};

/// Reads the text of an index file.
/// Errors: kInvalidArgument for malformed JSON, a tensor named twice, or a shard that is not a
/// plain file name (which could lead out of the folder).
absl::StatusOr<ShardIndex> ParseShardIndex(std::string_view json_text);

/// The shards of the checkpoint in `dir`: those of its index file, else `model.safetensors`, else
/// every *.safetensors file there.
/// Errors: kNotFound when there are none, or when files named "…-00001-of-00003…" are not complete.
absl::StatusOr<ShardIndex> FindShards(const std::filesystem::path& dir);

/// The text of an index file. `total_bytes` is that of all tensors.
std::string FormatShardIndex(const ShardIndex& index, std::uint64_t total_bytes);

}  // namespace stoker::checkpoint
