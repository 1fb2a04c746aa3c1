#pragma once

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "sys/memory.h"
#include "sys/thread_pool.h"

namespace stoker::sys {

/// Measures how fast the workers of a pool together read memory: the limit that decoding runs
/// against. Reads a buffer on huge pages, each part first written by a worker of the node that
/// reads it, with the widest plain loads. Uses the pool: not while anyone else does.
class ReadBandwidth {
 public:
  /// Larger than the last-level caches of today's processors.
  static constexpr std::size_t kDefaultBytes = std::size_t{1} << 30;

  /// Errors: kResourceExhausted where the buffer does not fit in available memory.
  static absl::StatusOr<ReadBandwidth> Create(ThreadPool& pool, std::size_t bytes = kDefaultBytes);

  /// Bytes per second of the fastest read of the buffer. Each of `passes` passes reads it in every
  /// way (streams, prefetch hints) that some processor likes best.
  double Measure(int passes);

 private:
  ReadBandwidth(ThreadPool& pool, HugeBuffer buffer) : pool_(&pool), buffer_(std::move(buffer)) {}

  ThreadPool* pool_;
  HugeBuffer buffer_;
};

}  // namespace stoker::sys
