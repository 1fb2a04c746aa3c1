#include "kv/paged_cache.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace stoker::kv {

using kernels::kKvBlockTokens;

absl::StatusOr<PagedCache> PagedCache::Create(CacheShape shape, std::size_t tokens) {
  PagedCache cache;
  cache.shape_ = shape;
  cache.total_blocks_ = (tokens + kKvBlockTokens - 1) / kKvBlockTokens;
  STOKER_ASSIGN_OR_RETURN(
      cache.memory_,
      sys::HugeBuffer::Allocate(cache.block_bytes() * cache.total_blocks_ * shape.layers));
  cache.free_.resize(cache.total_blocks_);
  for (std::size_t i = 0; i < cache.total_blocks_; ++i) {
    cache.free_[i] = static_cast<std::int32_t>(cache.total_blocks_ - 1 - i);
  }
  return cache;
}

std::size_t PagedCache::block_bytes() const {
  return kKvBlockTokens * (shape_.latent + shape_.rope) * kernels::SizeOf(shape_.dtype);
}

kernels::PagedKv PagedCache::Layer(LayerId layer) const {
  STOKER_DCHECK(Index(layer) < shape_.layers);
  return {.base = memory_.bytes().data() + Index(layer) * total_blocks_ * block_bytes(),
          .block_stride_bytes = block_bytes(),
          .latent = shape_.latent,
          .rope = shape_.rope,
          .dtype = shape_.dtype};
}

absl::StatusOr<std::int32_t> PagedCache::Allocate() {
  if (free_.empty()) {
    return ResourceExhausted("all {} KV blocks of {} tokens are in use", total_blocks_,
                             kKvBlockTokens);
  }
  const std::int32_t block = free_.back();
  free_.pop_back();
  return block;
}

void PagedCache::Free(std::int32_t block) {
  STOKER_DCHECK(block >= 0 && static_cast<std::size_t>(block) < total_blocks_);
  free_.push_back(block);
}

void PagedCache::CopyBlock(std::int32_t from, std::int32_t to) {
  for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
    const kernels::PagedKv view = Layer(LayerId{static_cast<std::int32_t>(layer)});
    std::memcpy(view.Entry(to, 0), view.Entry(from, 0), block_bytes());
  }
}

BlockTable::BlockTable(BlockTable&& other) noexcept
    : cache_(other.cache_), blocks_(std::exchange(other.blocks_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  std::swap(cache_, other.cache_);
  std::swap(blocks_, other.blocks_);
  return *this;
}

absl::Status BlockTable::Reserve(std::size_t tokens) {
  while (blocks_.size() * kKvBlockTokens < tokens) {
    STOKER_ASSIGN_OR_RETURN(const std::int32_t block, cache_->Allocate());
    blocks_.push_back(block);
  }
  return absl::OkStatus();
}

void BlockTable::Truncate(std::size_t tokens) {
  const std::size_t keep = (tokens + kKvBlockTokens - 1) / kKvBlockTokens;
  while (blocks_.size() > keep) {
    cache_->Free(blocks_.back());
    blocks_.pop_back();
  }
}

}  // namespace stoker::kv
