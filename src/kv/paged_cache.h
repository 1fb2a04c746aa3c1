#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "kernels/attention.h"
#include "sys/memory.h"

namespace stoker::kv {

/// What one token costs in a model's cache.
struct CacheShape {
  std::size_t layers = 0;
  std::size_t latent = 0;  ///< kv_lora_rank
  std::size_t rope = 0;    ///< qk_rope_head_dim
  kernels::KvDType dtype = kernels::KvDType::kBf16;

  /// Bytes of one token over all layers: (latent + rope) * layers * element.
  [[nodiscard]] std::size_t bytes_per_token() const {
    return (latent + rope) * layers * kernels::SizeOf(dtype);
  }
};

/// Latent keys and values of every sequence, in blocks of kernels::kKvBlockTokens tokens; a block's
/// index is the same in every layer. Memory is taken from the system as blocks are first written.
/// Not thread-safe: one engine thread allocates and frees.
class PagedCache {
 public:
  /// Room for at least `tokens` tokens. Errors: kResourceExhausted.
  static absl::StatusOr<PagedCache> Create(CacheShape shape, std::size_t tokens);

  [[nodiscard]] const CacheShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t total_blocks() const { return total_blocks_; }
  [[nodiscard]] std::size_t free_blocks() const { return free_.size(); }

  /// The cache of one layer as kernels read and write it.
  [[nodiscard]] kernels::PagedKv Layer(LayerId layer) const;

  /// Errors: kResourceExhausted when every block is in use.
  absl::StatusOr<std::int32_t> Allocate();
  /// Gives back a block that Allocate handed out.
  void Free(std::int32_t block);

  /// Copies the contents of a block in every layer.
  void CopyBlock(std::int32_t from, std::int32_t to);

 private:
  [[nodiscard]] std::size_t block_bytes() const;

  CacheShape shape_;
  std::size_t total_blocks_ = 0;
  std::vector<std::int32_t> free_;  // the last is handed out next
  sys::HugeBuffer memory_;          // [layer][block][slot][latent | rope]
};

/// The blocks of one sequence; gives them back when it dies. The cache must outlive it.
class BlockTable {
 public:
  explicit BlockTable(PagedCache& cache) : cache_(&cache) {}
  ~BlockTable() { Truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;

  /// Makes room for `tokens` tokens. Errors: kResourceExhausted; what was allocated stays.
  absl::Status Reserve(std::size_t tokens);

  /// Keeps room for `tokens` tokens and frees the blocks beyond.
  void Truncate(std::size_t tokens);

  [[nodiscard]] std::span<const std::int32_t> block_ids() const { return blocks_; }

 private:
  PagedCache* cache_;
  std::vector<std::int32_t> blocks_;
};

}  // namespace stoker::kv
