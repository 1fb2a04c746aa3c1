#pragma once

// The primitives of AVX2 + FMA + F16C; see simd_portable-inl.h for what each means. 16 lanes are
// two registers.
namespace stoker::kernels {
namespace {

struct F {
  __m256 a, b;
};
struct I {
  __m256i a, b;
};

STOKER_INLINE F Zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
STOKER_INLINE F Set1(float value) {
  const __m256 all = _mm256_set1_ps(value);
  return {all, all};
}
STOKER_INLINE F Load(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
STOKER_INLINE void Store(float* to, F x) {
  _mm256_storeu_ps(to, x.a);
  _mm256_storeu_ps(to + 8, x.b);
}
STOKER_INLINE F LoadLanes(const float* from, std::size_t lanes) {
  alignas(32) float all[16] = {};
  __builtin_memcpy(all, from, lanes * sizeof(float));
  return Load(all);
}
STOKER_INLINE void StoreLanes(float* to, F x, std::size_t lanes) {
  alignas(32) float all[16];
  Store(all, x);
  for (std::size_t i = 0; i < lanes; ++i) to[i] = all[i];
}
STOKER_INLINE F Add(F x, F y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
STOKER_INLINE F Sub(F x, F y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
STOKER_INLINE F Mul(F x, F y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
STOKER_INLINE F Div(F x, F y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
STOKER_INLINE F Max(F x, F y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
STOKER_INLINE F Min(F x, F y) {
  return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
STOKER_INLINE F MulAdd(F x, F y, F z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
STOKER_INLINE F ExactMulAdd(F x, F y, F z) {
  return MulAdd(x, y, z);
}
STOKER_INLINE F Round(F x) {
  return {_mm256_round_ps(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
STOKER_INLINE __m256 PowerOf2(__m256i exponent) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
}
/// Two steps, so that both factors are normal numbers.
STOKER_INLINE __m256 TimesPowerOf2(__m256 x, __m256 n) {
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return _mm256_mul_ps(_mm256_mul_ps(x, PowerOf2(half)), PowerOf2(_mm256_sub_epi32(whole, half)));
}
STOKER_INLINE F TimesPowerOf2(F x, F n) {
  return {TimesPowerOf2(x.a, n.a), TimesPowerOf2(x.b, n.b)};
}

STOKER_INLINE __m128i LoadHalf(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
STOKER_INLINE __m256 ExpandBf16(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
STOKER_INLINE F LoadBf16(const std::byte* from) {
  return {ExpandBf16(LoadHalf(from)), ExpandBf16(LoadHalf(from + 16))};
}
STOKER_INLINE F LoadBf16Lanes(const std::byte* from, std::size_t lanes) {
  alignas(32) std::byte all[32] = {};
  for (std::size_t i = 0; i < 2 * lanes; ++i) all[i] = from[i];
  return LoadBf16(all);
}
STOKER_INLINE void SplitBf16Pairs(F pairs, F& even, F& odd) {
  const __m256 upper = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000U)));
  even.a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs.a), 16));
  even.b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs.b), 16));
  odd.a = _mm256_and_ps(pairs.a, upper);
  odd.b = _mm256_and_ps(pairs.b, upper);
}
STOKER_INLINE F LoadF16(const std::byte* from) {
  return {_mm256_cvtph_ps(LoadHalf(from)), _mm256_cvtph_ps(LoadHalf(from + 16))};
}
STOKER_INLINE F ExpandE4m3(__m128i codes) {
  // As binary16, whose conversion takes subnormal codes in its stride; a multiplication does not.
  const __m256i halves = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7),
                                          _mm256_set1_epi16(static_cast<short>(0xbf80)));
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
          _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}
STOKER_INLINE void LoadE4m3(const std::byte* from, F& first, F& second) {
  first = ExpandE4m3(LoadHalf(from));
  second = ExpandE4m3(LoadHalf(from + 16));
}

/// 64 weights as bytes 0 … 15: four columns of 16 rows.
struct Nibbles {
  __m256i a, b;
};
STOKER_INLINE void UnpackNibbles(const std::byte* from, Nibbles& low, Nibbles& high) {
  const __m256i mask = _mm256_set1_epi8(0x0f);
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
  low = {_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)};
  high = {_mm256_and_si256(_mm256_srli_epi16(a, 4), mask),
          _mm256_and_si256(_mm256_srli_epi16(b, 4), mask)};
}
/// A group's sums in 16 bits, two a row: eight times 2 * 15 * 127 fits.
struct GroupSum {
  __m256i a, b;
  std::int32_t offset;
};
STOKER_INLINE GroupSum StartGroup(std::int32_t offset) {
  return {_mm256_setzero_si256(), _mm256_setzero_si256(), offset};
}
STOKER_INLINE void AddDot4(GroupSum& sum, const Nibbles& weights, const std::int8_t* x) {
  std::int32_t four = 0;
  __builtin_memcpy(&four, x, sizeof(four));
  const __m256i all = _mm256_set1_epi32(four);
  sum.a = _mm256_add_epi16(sum.a, _mm256_maddubs_epi16(weights.a, all));
  sum.b = _mm256_add_epi16(sum.b, _mm256_maddubs_epi16(weights.b, all));
}
STOKER_INLINE __m256 EndGroup(__m256i sums, std::int32_t offset) {
  const __m256i pairs = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
  return _mm256_cvtepi32_ps(_mm256_add_epi32(pairs, _mm256_set1_epi32(offset)));
}
STOKER_INLINE F EndGroup(const GroupSum& sum) {
  return {EndGroup(sum.a, sum.offset), EndGroup(sum.b, sum.offset)};
}

STOKER_INLINE I AbsBits(F x) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  return {_mm256_and_si256(_mm256_castps_si256(x.a), mask),
          _mm256_and_si256(_mm256_castps_si256(x.b), mask)};
}
STOKER_INLINE I MaxInt(I x, I y) {
  return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)};
}
STOKER_INLINE std::int32_t LargestLane(I x) {
  const __m256i eight = _mm256_max_epi32(x.a, x.b);
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}
STOKER_INLINE I RoundToInt(F x) {
  return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}
STOKER_INLINE I BitsOf(F x) {
  return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)};
}
STOKER_INLINE F FromBits(I x) {
  return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)};
}
STOKER_INLINE I AndInt(I x, int mask) {
  const __m256i all = _mm256_set1_epi32(mask);
  return {_mm256_and_si256(x.a, all), _mm256_and_si256(x.b, all)};
}
STOKER_INLINE I OrInt(I x, I y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
template <int kBits>
STOKER_INLINE I ShiftLeft(I x) {
  return {_mm256_slli_epi32(x.a, kBits), _mm256_slli_epi32(x.b, kBits)};
}
template <int kBits>
STOKER_INLINE I ShiftRight(I x) {
  return {_mm256_srli_epi32(x.a, kBits), _mm256_srli_epi32(x.b, kBits)};
}
STOKER_INLINE I AddInt(I x, I y) {
  return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
STOKER_INLINE std::int32_t SumLanes(I x) {
  const __m256i eight = _mm256_add_epi32(x.a, x.b);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}
STOKER_INLINE void StoreInt8(std::int8_t* to, I x) {
  // Packing works within 128-bit halves: put the pieces back in order.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}
STOKER_INLINE float SumLanes(F x) {
  const __m256 half = _mm256_add_ps(x.a, x.b);
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

STOKER_INLINE void Transpose8(__m256 (&rows)[8]) {
  __m256 a[8];
  __m256 b[8];
  STOKER_UNROLL
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  STOKER_UNROLL
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  STOKER_UNROLL
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_permute2f128_ps(b[i], b[4 + i], 0x20);
    rows[4 + i] = _mm256_permute2f128_ps(b[i], b[4 + i], 0x31);
  }
}
/// Four quarters of 8 x 8, the two off the diagonal swapped.
STOKER_INLINE void Transpose16(F (&rows)[16]) {
  __m256 quarter[2][2][8];
  STOKER_UNROLL
  for (int i = 0; i < 8; ++i) {
    quarter[0][0][i] = rows[i].a;
    quarter[0][1][i] = rows[i].b;
    quarter[1][0][i] = rows[8 + i].a;
    quarter[1][1][i] = rows[8 + i].b;
  }
  Transpose8(quarter[0][0]);
  Transpose8(quarter[0][1]);
  Transpose8(quarter[1][0]);
  Transpose8(quarter[1][1]);
  STOKER_UNROLL
  for (int i = 0; i < 8; ++i) {
    rows[i] = {quarter[0][0][i], quarter[1][0][i]};
    rows[8 + i] = {quarter[0][1][i], quarter[1][1][i]};
  }
}

}  // namespace
}  // namespace stoker::kernels
