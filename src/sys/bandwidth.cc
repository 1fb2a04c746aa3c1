#include "sys/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "base/units.h"

namespace stoker::sys {
namespace {

// What one task reads: long enough for the hardware's prefetchers, short enough that workers who
// start late do not hold up the others.
constexpr std::size_t kTaskBytes = std::size_t{2} << 20;

// Four cache lines a turn, fetched ahead: without the hint one core of a server reaches only part
// of what it can read.
using Line = std::uint64_t __attribute__((vector_size(64), may_alias));
constexpr std::size_t kStride = 4 * sizeof(Line);
constexpr std::size_t kAhead = 4096;

[[gnu::always_inline]] inline std::uint64_t SumLines(const std::byte* data, std::size_t bytes) {
  Line sums[4] = {};
  for (std::size_t at = 0; at < bytes; at += kStride) {
    for (std::size_t line = 0; line < 4; ++line) {
      const std::byte* from = data + at + line * sizeof(Line);
      __builtin_prefetch(from + kAhead);
      sums[line] += *reinterpret_cast<const Line*>(from);
    }
  }
  const Line total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < sizeof(Line) / sizeof(std::uint64_t); ++lane) {
    sum += total[lane];
  }
  return sum;
}

using Summer = std::uint64_t (*)(const std::byte*, std::size_t);

std::uint64_t SumBaseline(const std::byte* data, std::size_t bytes) {
  return SumLines(data, bytes);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::uint64_t SumAvx2(const std::byte* data, std::size_t bytes) {
  return SumLines(data, bytes);
}

[[gnu::target("avx512f")]] std::uint64_t SumAvx512(const std::byte* data, std::size_t bytes) {
  return SumLines(data, bytes);
}
#endif

// The widest loads that this processor has, so that loads never are the limit.
Summer BestSummer() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return SumAvx512;
  if (__builtin_cpu_supports("avx2")) return SumAvx2;
#endif
  return SumBaseline;
}

}  // namespace

absl::StatusOr<ReadBandwidth> ReadBandwidth::Create(ThreadPool& pool, std::size_t bytes) {
  const std::size_t tasks = std::max<std::size_t>(1, bytes / kTaskBytes);
  const std::uint64_t available = AvailableMemoryBytes();
  if (available != 0 && tasks * kTaskBytes > available) {
    return ResourceExhausted("measuring the read bandwidth takes {} of memory; {} are available",
                             FormatBytes(tasks * kTaskBytes), FormatBytes(available));
  }
  STOKER_ASSIGN_OR_RETURN(HugeBuffer buffer, HugeBuffer::Allocate(tasks * kTaskBytes));
  std::byte* data = buffer.bytes().data();
  pool.ParallelFor(
      tasks, [&](std::size_t task, int) { std::memset(data + task * kTaskBytes, 1, kTaskBytes); });
  return ReadBandwidth(pool, std::move(buffer));
}

double ReadBandwidth::Measure(int passes) {
  const std::size_t bytes = buffer_.bytes().size();
  const std::byte* data = buffer_.bytes().data();
  std::atomic<std::uint64_t> total{0};  // keeps the compiler from leaving the reads out
  const Summer sum = BestSummer();
  double best = 0.0;
  for (int pass = 0; pass < passes; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool_->ParallelFor(bytes / kTaskBytes, [&](std::size_t task, int) {
      total.fetch_add(sum(data + task * kTaskBytes, kTaskBytes), std::memory_order_relaxed);
    });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) / elapsed.count());
  }
  return best;
}

}  // namespace stoker::sys
