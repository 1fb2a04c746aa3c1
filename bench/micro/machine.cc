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

float FmaAvx512(std::size_t rounds) {
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

float DotInt8Avx512(std::size_t rounds) {
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

float DotBf16Avx512(std::size_t rounds) {
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

STOKER_BEGIN_TARGET("avx2,fma")

float FmaAvx2(std::size_t rounds) {
  __m256 sums[kSums];
  STOKER_UNROLL
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm256_set1_ps(static_cast<float>(k));
  const __m256 a = _mm256_set1_ps(0.5F);
  for (std::size_t i = 0; i < rounds; ++i) {
    STOKER_UNROLL
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm256_fmadd_ps(sums[k], a, a);
  }
  float total = 0.0F;
  for (const __m256& sum : sums) total += _mm_cvtss_f32(_mm256_castps256_ps128(sum));
  return total;
}

/// The multiplication and the addition that follows it, as the INT4 kernel has them.
float DotInt8Avx2(std::size_t rounds) {
  __m256i sums[kSums];
  STOKER_UNROLL
  for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm256_set1_epi16(static_cast<short>(k));
  for (std::size_t i = 0; i < rounds; ++i) {
    STOKER_UNROLL
    for (std::size_t k = 0; k < kSums; ++k) {
      sums[k] = _mm256_add_epi16(sums[k], _mm256_maddubs_epi16(sums[k], sums[k]));
    }
  }
  int total = 0;
  for (const __m256i& sum : sums) total += _mm256_extract_epi16(sum, 0);
  return static_cast<float>(total);
}

STOKER_END_TARGET

/// How an instruction set does one kind of multiply-add, widest set first.
struct Unit {
  Instruction instruction;
  bool (*supported)();
  float (*run)(std::size_t rounds);
  std::size_t lanes;  ///< multiply-adds of one instruction
};
constexpr Unit kUnits[] = {
    {Instruction::kFmaF32, [] { return __builtin_cpu_supports("avx512f") != 0; }, FmaAvx512, 16},
    {Instruction::kFmaF32, [] { return __builtin_cpu_supports("fma") != 0; }, FmaAvx2, 8},
    {Instruction::kDotInt8, [] { return __builtin_cpu_supports("avx512vnni") != 0; }, DotInt8Avx512,
     64},
    {Instruction::kDotInt8, [] { return __builtin_cpu_supports("avx2") != 0; }, DotInt8Avx2, 32},
    {Instruction::kDotBf16, [] { return __builtin_cpu_supports("avx512bf16") != 0; }, DotBf16Avx512,
     32},
};

const Unit* UnitFor(Instruction instruction) {
  for (const Unit& unit : kUnits) {
    if (unit.instruction == instruction && unit.supported()) return &unit;
  }
  return nullptr;
}

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
  return UnitFor(instruction) != nullptr;
}

std::size_t RunInstruction(Instruction instruction, std::size_t rounds) {
  const Unit* unit = UnitFor(instruction);
  STOKER_CHECK(unit != nullptr);
  [[maybe_unused]] volatile float sink = unit->run(rounds);
  return rounds * kSums * unit->lanes;
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
