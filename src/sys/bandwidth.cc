#include "sys/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/units.h"

namespace stoker::sys {
namespace {

// What one task reads: long enough for the hardware's prefetchers, short enough that workers who
// start late do not hold up the others.
constexpr std::size_t kTaskBytes = std::size_t{2} << 20;

constexpr unsigned char kFilledByte = 1;
constexpr std::uint64_t kFilledWord = 0x0101010101010101;

using Line = std::uint64_t __attribute__((vector_size(64), may_alias));

// Adds up a task's memory: two lines of each of kStreams streams a turn, hinted kAhead bytes ahead
// (0: no hint).
template <std::size_t kStreams, std::size_t kAhead>
[[gnu::always_inline]] inline std::uint64_t SumLines(const std::byte* data) {
  constexpr std::size_t kPart = kTaskBytes / kStreams;
  constexpr std::size_t kTurn = 2 * sizeof(Line);
  Line sums[2] = {};
  for (std::size_t at = 0; at < kPart; at += kTurn) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const std::byte* from = data + stream * kPart + at;
      if constexpr (kAhead > 0) {
        __builtin_prefetch(from + kAhead);
        __builtin_prefetch(from + kAhead + sizeof(Line));
      }
      sums[0] += *reinterpret_cast<const Line*>(from);
      sums[1] += *reinterpret_cast<const Line*>(from + sizeof(Line));
    }
  }
  const Line total = sums[0] + sums[1];
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < sizeof(Line) / sizeof(std::uint64_t); ++lane) {
    sum += total[lane];
  }
  return sum;
}

// Processors differ by up to a third in which way of reading is their fastest: some cores need
// hints far ahead (Xeon of 2023), others are slowed by them and like two streams (EPYC of 2021).
enum class Way { kOneStreamHinted, kTwoStreams, kFourStreamsHinted };
constexpr Way kWays[] = {Way::kOneStreamHinted, Way::kTwoStreams, Way::kFourStreamsHinted};

[[gnu::always_inline]] inline std::uint64_t Sum(Way way, const std::byte* data) {
  switch (way) {
    case Way::kOneStreamHinted:
      return SumLines<1, 4096>(data);
    case Way::kTwoStreams:
      return SumLines<2, 0>(data);
    case Way::kFourStreamsHinted:
      return SumLines<4, 512>(data);
  }
  return 0;
}

using Summer = std::uint64_t (*)(Way, const std::byte*);

std::uint64_t SumBaseline(Way way, const std::byte* data) {
  return Sum(way, data);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::uint64_t SumAvx2(Way way, const std::byte* data) {
  return Sum(way, data);
}

[[gnu::target("avx512f")]] std::uint64_t SumAvx512(Way way, const std::byte* data) {
  return Sum(way, data);
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
  const std::optional<std::uint64_t> available = AvailableMemoryBytes();
  if (available && tasks * kTaskBytes > *available) {
    return ResourceExhausted("measuring the read bandwidth takes {} of memory; {} are available",
                             FormatBytes(tasks * kTaskBytes), FormatBytes(*available));
  }
  STOKER_ASSIGN_OR_RETURN(HugeBuffer buffer, HugeBuffer::Allocate(tasks * kTaskBytes));
  std::byte* data = buffer.bytes().data();
  pool.ParallelFor(tasks, [&](std::size_t task, int) {
    std::memset(data + task * kTaskBytes, kFilledByte, kTaskBytes);
  });
  return ReadBandwidth(pool, std::move(buffer));
}

double ReadBandwidth::Measure(int passes) {
  const std::size_t bytes = buffer_.bytes().size();
  const std::byte* data = buffer_.bytes().data();
  const Summer sum = BestSummer();
  double best = 0.0;
  for (int pass = 0; pass < passes; ++pass) {
    for (const Way way : kWays) {
      std::atomic<std::uint64_t> total{0};
      const auto start = std::chrono::steady_clock::now();
      pool_->ParallelFor(bytes / kTaskBytes, [&](std::size_t task, int) {
        total.fetch_add(sum(way, data + task * kTaskBytes), std::memory_order_relaxed);
      });
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      // A way that left something out would seem fast.
      STOKER_CHECK(total.load() == bytes / sizeof(std::uint64_t) * kFilledWord);
      best = std::max(best, static_cast<double>(bytes) / elapsed.count());
    }
  }
  return best;
}

}  // namespace stoker::sys
