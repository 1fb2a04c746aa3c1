#pragma once

// BF16 weights meet activations rounded to BF16, by vdpbf16ps: twice the multiply-adds of a float32
// instruction where it issues every cycle. See docs/adr/0003-bf16-dot-on-zen4.md.
namespace stoker::kernels {
namespace {

/// 16 lanes of two columns each, even columns in the lower halves.
struct Pairs {
  __m512i v;
};
STOKER_INLINE Pairs LoadPairs(const void* from) {
  return {_mm512_loadu_si512(from)};
}
STOKER_INLINE Pairs BroadcastPair(std::uint32_t pair) {
  return {_mm512_set1_epi32(static_cast<int>(pair))};
}
/// sum + even * even + odd * odd. Subnormal operands count as zero.
STOKER_INLINE F AddPairProducts(F sum, Pairs a, Pairs b) {
  return {_mm512_dpbf16_ps(sum.v, __builtin_bit_cast(__m512bh, a.v),
                           __builtin_bit_cast(__m512bh, b.v))};
}

/// Rounds x[0, cols) to nearest even BF16, filled up with zeros to 32 columns.
STOKER_INLINE void RoundToPairs(const float* x, std::size_t cols, std::uint32_t* pairs) {
  for (std::size_t col = 0; col < cols; col += 32) {
    const F low = LoadUpTo16(x + col, Smaller(16, cols - col));
    const F high =
        col + 16 < cols ? LoadUpTo16(x + col + 16, Smaller(16, cols - col - 16)) : Zero();
    _mm512_storeu_si512(pairs + col / 2,
                        __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(high.v, low.v)));
  }
}

struct Bf16Pairs {
  static constexpr bool kRoundsActivations = true;
  static constexpr TileKind kTile = TileKind::kOwn;
  static constexpr std::size_t kPairBytes = 4 * kPanelRows;
  /// Columns whose activations are rounded at a time, into the first-level cache.
  static constexpr std::size_t kBlock = 512;

  /// sums += the products of columns [0, cols), the tokens' in `pairs`.
  template <int kPanels, int kTokens>
  STOKER_INLINE static void Accumulate(const std::byte* const (&from)[kPanels],
                                       const std::uint32_t (&pairs)[kTokens][kBlock / 2],
                                       std::size_t cols, F (&sums)[kPanels][kTokens]) {
    for (std::size_t pair = 0; pair < cols / 2; ++pair) {
      Pairs weights[kPanels];
      STOKER_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        PrefetchAhead<kPairBytes>(from[p] + pair * kPairBytes);
        weights[p] = LoadPairs(from[p] + pair * kPairBytes);
      }
      AddStep(weights, pairs, pair, sums);
    }
    if (cols % 2 == 0) return;
    // What lies beside the last column is no weight, and might be no number.
    Pairs weights[kPanels];
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      const Pairs pair = LoadPairs(from[p] + cols / 2 * kPairBytes);
      weights[p] = {_mm512_and_si512(pair.v, _mm512_set1_epi32(0xffff))};
    }
    AddStep(weights, pairs, cols / 2, sums);
  }

  template <int kPanels, int kTokens>
  STOKER_INLINE static void AddStep(const Pairs (&weights)[kPanels],
                                    const std::uint32_t (&pairs)[kTokens][kBlock / 2],
                                    std::size_t pair, F (&sums)[kPanels][kTokens]) {
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const Pairs activations = BroadcastPair(pairs[t][pair]);
      STOKER_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        sums[p][t] = AddPairProducts(sums[p][t], weights[p], activations);
      }
    }
  }

  template <int kPanels, int kTokens>
  static void RunTile(const Tile& tile) {
    F sums[kPanels][kTokens];
    const std::byte* from[kPanels];
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      from[p] = tile.panels[p];
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) sums[p][t] = Zero();
    }
    alignas(64) std::uint32_t pairs[kTokens][kBlock / 2];
    for (std::size_t first = 0; first < tile.cols; first += kBlock) {
      const std::size_t cols = Smaller(kBlock, tile.cols - first);
      for (int t = 0; t < kTokens; ++t) RoundToPairs(tile.x[t] + first, cols, pairs[t]);
      Accumulate<kPanels, kTokens>(from, pairs, cols, sums);
      STOKER_UNROLL
      for (int p = 0; p < kPanels; ++p) from[p] += kBlock / 2 * kPairBytes;
    }
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) StoreSum(tile, p, t, sums[p][t]);
    }
  }
};

}  // namespace
}  // namespace stoker::kernels
