#pragma once

// The primitives of AVX-512 F/BW/DQ/VL + VNNI; see simd_portable-inl.h for what each means.
namespace stoker::kernels {
namespace {

struct F {
  __m512 v;
};
struct I {
  __m512i v;
};

STOKER_INLINE F Zero() {
  return {_mm512_setzero_ps()};
}
STOKER_INLINE F Set1(float value) {
  return {_mm512_set1_ps(value)};
}
STOKER_INLINE F Load(const float* from) {
  return {_mm512_loadu_ps(from)};
}
STOKER_INLINE void Store(float* to, F a) {
  _mm512_storeu_ps(to, a.v);
}
STOKER_INLINE __mmask16 LaneMask(std::size_t lanes) {
  return static_cast<__mmask16>((1U << lanes) - 1U);
}
STOKER_INLINE F LoadLanes(const float* from, std::size_t lanes) {
  return {_mm512_maskz_loadu_ps(LaneMask(lanes), from)};
}
STOKER_INLINE void StoreLanes(float* to, F a, std::size_t lanes) {
  _mm512_mask_storeu_ps(to, LaneMask(lanes), a.v);
}
STOKER_INLINE F Add(F a, F b) {
  return {_mm512_add_ps(a.v, b.v)};
}
STOKER_INLINE F Sub(F a, F b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
STOKER_INLINE F Mul(F a, F b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
STOKER_INLINE F Div(F a, F b) {
  return {_mm512_div_ps(a.v, b.v)};
}
STOKER_INLINE F Max(F a, F b) {
  return {_mm512_max_ps(a.v, b.v)};
}
STOKER_INLINE F Min(F a, F b) {
  return {_mm512_min_ps(a.v, b.v)};
}
STOKER_INLINE F MulAdd(F a, F b, F c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
STOKER_INLINE F ExactMulAdd(F a, F b, F c) {
  return MulAdd(a, b, c);
}
STOKER_INLINE F Round(F a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
STOKER_INLINE F TimesPowerOf2(F a, F n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}

STOKER_INLINE F ExpandBf16(__m256i halves) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16))};
}
STOKER_INLINE F LoadBf16(const std::byte* from) {
  return ExpandBf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
STOKER_INLINE F LoadBf16Lanes(const std::byte* from, std::size_t lanes) {
  return ExpandBf16(_mm256_maskz_loadu_epi16(LaneMask(lanes), from));
}
STOKER_INLINE void SplitBf16Pairs(F pairs, F& even, F& odd) {
  const __m512i bits = _mm512_castps_si512(pairs.v);
  even.v = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
  odd.v =
      _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}
STOKER_INLINE F LoadF16(const std::byte* from) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
}
STOKER_INLINE void LoadE4m3(const std::byte* from, F& first, F& second) {
  // As binary16, whose conversion takes subnormal codes in its stride; a multiplication does not.
  const __m512i codes =
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  const __m512i halves =
      _mm512_and_si512(_mm512_slli_epi16(codes, 7), _mm512_set1_epi16(static_cast<short>(0xbf80)));
  first.v = _mm512_cvtph_ps(_mm512_castsi512_si256(halves));
  second.v = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1));
}

/// 64 weights as bytes 0 … 15: four columns of 16 rows.
struct Nibbles {
  __m512i v;
};
STOKER_INLINE void UnpackNibbles(const std::byte* from, Nibbles& low, Nibbles& high) {
  const __m512i bytes = _mm512_loadu_si512(from);
  const __m512i mask = _mm512_set1_epi8(0x0f);
  low.v = _mm512_and_si512(bytes, mask);
  high.v = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
}
/// Sums of products of one group, per row.
struct GroupSum {
  __m512i v;
};
STOKER_INLINE GroupSum StartGroup(std::int32_t offset) {
  return {_mm512_set1_epi32(offset)};
}
STOKER_INLINE void AddDot4(GroupSum& sum, Nibbles weights, const std::int8_t* x) {
  std::int32_t four = 0;
  __builtin_memcpy(&four, x, sizeof(four));
  sum.v = _mm512_dpbusd_epi32(sum.v, weights.v, _mm512_set1_epi32(four));
}
STOKER_INLINE F EndGroup(GroupSum sum) {
  return {_mm512_cvtepi32_ps(sum.v)};
}

STOKER_INLINE I AbsBits(F a) {
  return {_mm512_and_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(0x7fffffff))};
}
STOKER_INLINE I MaxInt(I a, I b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
STOKER_INLINE std::int32_t LargestLane(I a) {
  return _mm512_reduce_max_epi32(a.v);
}
STOKER_INLINE I RoundToInt(F a) {
  return {_mm512_cvtps_epi32(a.v)};
}
STOKER_INLINE I BitsOf(F a) {
  return {_mm512_castps_si512(a.v)};
}
STOKER_INLINE F FromBits(I a) {
  return {_mm512_castsi512_ps(a.v)};
}
STOKER_INLINE I AndInt(I a, int mask) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi32(mask))};
}
STOKER_INLINE I OrInt(I a, I b) {
  return {_mm512_or_si512(a.v, b.v)};
}
template <int kBits>
STOKER_INLINE I ShiftLeft(I a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
STOKER_INLINE I ShiftRight(I a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
STOKER_INLINE I AddInt(I a, I b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
STOKER_INLINE std::int32_t SumLanes(I a) {
  return _mm512_reduce_add_epi32(a.v);
}
STOKER_INLINE void StoreInt8(std::int8_t* to, I a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(a.v));
}
STOKER_INLINE float SumLanes(F a) {
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

/// Four stages, each interleaving at twice the distance of the one before.
STOKER_INLINE void Transpose16(F (&rows)[16]) {
  __m512i a[16];
  __m512i b[16];
  STOKER_UNROLL
  for (int i = 0; i < 16; i += 2) {
    const __m512i x = _mm512_castps_si512(rows[i].v);
    const __m512i y = _mm512_castps_si512(rows[i + 1].v);
    a[i] = _mm512_unpacklo_epi32(x, y);
    a[i + 1] = _mm512_unpackhi_epi32(x, y);
  }
  STOKER_UNROLL
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4 j + k] holds column 4 l + k of rows 4 j … 4 j + 3 in its 128-bit part l.
  STOKER_UNROLL
  for (int k = 0; k < 4; ++k) {
    const __m512i low_even = _mm512_shuffle_i32x4(b[k], b[4 + k], 0x88);
    const __m512i low_odd = _mm512_shuffle_i32x4(b[k], b[4 + k], 0xdd);
    const __m512i high_even = _mm512_shuffle_i32x4(b[8 + k], b[12 + k], 0x88);
    const __m512i high_odd = _mm512_shuffle_i32x4(b[8 + k], b[12 + k], 0xdd);
    rows[k].v = _mm512_castsi512_ps(_mm512_shuffle_i32x4(low_even, high_even, 0x88));
    rows[4 + k].v = _mm512_castsi512_ps(_mm512_shuffle_i32x4(low_odd, high_odd, 0x88));
    rows[8 + k].v = _mm512_castsi512_ps(_mm512_shuffle_i32x4(low_even, high_even, 0xdd));
    rows[12 + k].v = _mm512_castsi512_ps(_mm512_shuffle_i32x4(low_odd, high_odd, 0xdd));
  }
}

}  // namespace
}  // namespace stoker::kernels
