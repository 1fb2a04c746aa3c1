#include "bench/micro/machine.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/cpu/target.h"
#include "sys/bandwidth.h"
#include "sys/topology.h"

namespace stoker::bench {
namespace {

double Seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

constexpr std::size_t kSums = 12;

STOKER_BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512vnni,avx512bf16")

float Fma(std::size_t rounds) {
  __m512 sums[kSums];
  // Distinct, or the compiler would compute one for all.
  STOKER_UNROLL
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_set1_ps(static_cast<float>(k));
  const __m512 a = _mm512_set1_ps(0.5F);
  for (std::size_t i = 0; i < rounds; ++i) {
    STOKER_UNROLL
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_fmadd_ps(sums[k], a, a);
  }
  float total = 0.0F;
  for (const __m512& sum : sums) total += _mm512_reduce_add_ps(sum);
  return total;
}

float DotInt8(std::size_t rounds) {
  __m512i sums[kSums];
  // Distinct, or the compiler would compute one for all.
  STOKER_UNROLL
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_set1_epi32(static_cast<int>(k));
  const __m512i a = _mm512_set1_epi8(1);
  for (std::size_t i = 0; i < rounds; ++i) {
    STOKER_UNROLL
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_dpbusd_epi32(sums[k], a, a);
  }
  int total = 0;
  for (const __m512i& sum : sums) total += _mm512_reduce_add_epi32(sum);
  return static_cast<float>(total);
}

float DotBf16(std::size_t rounds) {
  __m512 sums[kSums];
  // Distinct, or the compiler would compute one for all.
  STOKER_UNROLL
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_set1_ps(static_cast<float>(k));
  __m512bh a;
  const __m512i ones = _mm512_set1_epi16(0x3f80);
  std::memcpy(&a, &ones, sizeof(a));
  for (std::size_t i = 0; i < rounds; ++i) {
    STOKER_UNROLL
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_dpbf16_ps(sums[k], a, a);
  }
  float total = 0.0F;
  for (const __m512& sum : sums) total += _mm512_reduce_add_ps(sum);
  return total;
}

STOKER_END_TARGET

}  // namespace

sys::ThreadPool& Pool() {
  static sys::ThreadPool* pool = [] {
    auto topology = sys::DetectTopology();
    STOKER_CHECK(topology.ok());
    return new sys::ThreadPool(*topology, {});
  }();
  return *pool;
}

sys::HugeBuffer Allocate(std::size_t bytes) {
  auto buffer = sys::HugeBuffer::Allocate(bytes);
  STOKER_CHECK(buffer.ok());
  return *std::move(buffer);
}

double ReadBandwidth() {
  constexpr int kPasses = 3;
  static sys::ReadBandwidth reader = [] {
    auto fresh = sys::ReadBandwidth::Create(Pool());
    STOKER_CHECK(fresh.ok());
    return *std::move(fresh);
  }();
  return reader.Measure(kPasses);
}

bool Supported(Instruction instruction) {
  switch (instruction) {
    case Instruction::kFmaF32:
      return __builtin_cpu_supports("avx512f");
    case Instruction::kDotInt8:
      return __builtin_cpu_supports("avx512vnni");
    case Instruction::kDotBf16:
      return __builtin_cpu_supports("avx512bf16");
  }
  return false;
}

std::size_t RunInstruction(Instruction instruction, std::size_t rounds) {
  volatile float sink = 0.0F;
  switch (instruction) {
    case Instruction::kFmaF32:
      sink = Fma(rounds);
      break;
    case Instruction::kDotInt8:
      sink = DotInt8(rounds);
      break;
    case Instruction::kDotBf16:
      sink = DotBf16(rounds);
      break;
  }
  static_cast<void>(sink);
  const std::size_t per_lane = instruction == Instruction::kFmaF32    ? 1
                               : instruction == Instruction::kDotInt8 ? 4
                                                                      : 2;
  return rounds * kSums * 16 * per_lane;
}

double Rate(Instruction instruction) {
  constexpr std::size_t kRounds = 1 << 20;
  double best = 0.0;
  for (int pass = 0; pass < 5; ++pass) {
    const double start = Seconds();
    const std::size_t done = RunInstruction(instruction, kRounds);
    best = std::max(best, static_cast<double>(done) / (Seconds() - start));
  }
  return best;
}

}  // namespace stoker::bench
