#pragma once

// Products of a few tokens with panels of weights, once for every instruction set and format.
//
// Every output element is summed over columns in ascending order by fused multiply-adds into one
// lane (FP8: per block of 128 columns, which is then scaled and added; INT4: per group of 32 in
// integers). Tiling by panels, tokens and columns never changes that order: a sum that is put
// aside as float32 and taken up again is the same sum.
//
// Weights are expanded in registers once per tile of up to 12 tokens. Expanding a block of them
// into the first-level cache once for all tokens was slower, for 32 tokens as for 512; so were
// blocks of columns that keep the activations of 512 tokens in the second-level cache.
namespace stoker::kernels {
namespace {

using tensor::WeightFormat;

constexpr std::size_t kMaxPanelTile = 4;
STOKER_INLINE std::size_t Smaller(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

/// How far ahead of its use a stream of weights is asked for. The processor's own prefetcher stops
/// at every page and sees only what has been touched; several panels at once outrun it.
constexpr std::size_t kPrefetchBytes = 2048;

/// Asks for the kBytes that lie kPrefetchBytes after `from`. Beyond the weights' end this is
/// harmless.
template <std::size_t kBytes>
STOKER_INLINE void PrefetchAhead(const std::byte* from) {
  STOKER_UNROLL
  for (std::size_t at = 0; at < kBytes; at += 64) {
    __builtin_prefetch(from + kPrefetchBytes + at, 0, kPrefetchLocality);
  }
}
/// The same for INT4 scales, whose streams are an eighth as fast.
STOKER_INLINE void PrefetchScales(const std::byte* from) {
  __builtin_prefetch(from + kPrefetchBytes / 4, 0, kPrefetchLocality);
}

/// How a tile of some format sums.
enum class TileKind {
  kPlain,   ///< all columns into one sum
  kScaled,  ///< a block of 128 columns at a time: y = block sum * scale + y
  kOwn,     ///< by the format's own RunTile
};

// How a format is read: kStep columns of one panel at `from`, as float32.
struct F32Weights {
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kColBytes = 64;
  static constexpr bool kStreamed = true;
  static constexpr TileKind kTile = TileKind::kPlain;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    columns[0] = Load(reinterpret_cast<const float*>(from));
  }
};
struct F16Weights {
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kColBytes = 32;
  static constexpr bool kStreamed = true;
  static constexpr TileKind kTile = TileKind::kPlain;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    columns[0] = LoadF16(from);
  }
};
struct Bf16Weights {
  static constexpr bool kRoundsActivations = false;
  static constexpr std::size_t kStep = 2;
  static constexpr std::size_t kColBytes = 32;
  static constexpr bool kStreamed = true;
  static constexpr TileKind kTile = TileKind::kPlain;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    SplitBf16Pairs(Load(reinterpret_cast<const float*>(from)), columns[0], columns[1]);
  }
};
/// Read as 2^-8 of their value; see kFp8Unit.
struct Fp8Weights {
  static constexpr std::size_t kStep = 2;
  static constexpr std::size_t kColBytes = 16;
  static constexpr bool kStreamed = true;
  static constexpr TileKind kTile = TileKind::kScaled;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    LoadE4m3(from, columns[0], columns[1]);
  }
};
/// What LoadE4m3 leaves out. A power of two: the block's scale takes it in without rounding.
inline constexpr float kFp8Unit = 0x1p8F;
/// Float32 values that lie in the first-level cache already.
struct ExpandedWeights : F32Weights {
  static constexpr bool kStreamed = false;
};
/// Some panels, some tokens, some columns. Panel pointers are to the first column's weights.
/// Sums start from zero when first_col is 0, else from what y holds.
struct Tile {
  const std::byte* const* panels = nullptr;  // [panel tile]
  const float* const* scales = nullptr;      // FP8: [panel tile], of the block of the first column
  const float* const* x = nullptr;           // [token tile], to the first column
  float* const* y = nullptr;                 // [token tile], to the first panel's lanes
  std::size_t first_col = 0;
  std::size_t cols = 0;
  std::size_t panel_count = 0;  ///< panels that are stored; further ones repeat the last
  std::size_t token_count = 0;  ///< likewise for tokens
  std::size_t last_lanes = kPanelRows;
};

/// sums += the products of the kStep columns at `col`.
template <typename Weights, int kPanels, int kTokens>
STOKER_INLINE void AccumulateStep(const std::byte* const (&from)[kPanels],
                                  const float* const (&in)[kTokens], std::size_t col,
                                  F (&sums)[kPanels][kTokens]) {
  F weights[kPanels][Weights::kStep];
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) Weights::Read(from[p] + col * Weights::kColBytes, weights[p]);
  STOKER_UNROLL
  for (std::size_t s = 0; s < Weights::kStep; ++s) {
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      const F activation = Set1(in[t][col + s]);
      STOKER_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        sums[p][t] = MulAdd(weights[p][s], activation, sums[p][t]);
      }
    }
  }
}

/// sums += the products of columns [0, cols).
template <typename Weights, int kPanels, int kTokens>
STOKER_INLINE void Accumulate(const std::byte* const* panels, const float* const* x,
                              std::size_t cols, F (&sums)[kPanels][kTokens]) {
  constexpr std::size_t kStep = Weights::kStep;
  // Several columns a turn: there are more row pointers than registers to hold them.
  constexpr std::size_t kTurn = 4;
  const std::byte* from[kPanels];
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) from[p] = panels[p];
  const float* in[kTokens];
  STOKER_UNROLL
  for (int t = 0; t < kTokens; ++t) in[t] = x[t];
  std::size_t col = 0;
  for (; col + kTurn <= cols; col += kTurn) {
    if constexpr (Weights::kStreamed) {
      STOKER_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        PrefetchAhead<kTurn * Weights::kColBytes>(from[p] + col * Weights::kColBytes);
      }
    }
    STOKER_UNROLL
    for (std::size_t step = 0; step < kTurn; step += kStep) {
      AccumulateStep<Weights, kPanels, kTokens>(from, in, col + step, sums);
    }
  }
  for (; col + kStep <= cols; col += kStep) {
    AccumulateStep<Weights, kPanels, kTokens>(from, in, col, sums);
  }
  if constexpr (kStep > 1) {
    if (col == cols) return;
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      F weights[kStep];
      Weights::Read(from[p] + col * Weights::kColBytes, weights);
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        sums[p][t] = MulAdd(weights[0], Set1(in[t][col]), sums[p][t]);
      }
    }
  }
}

STOKER_INLINE F LoadSum(const Tile& tile, int p, int t) {
  const auto panel = static_cast<std::size_t>(p);
  const float* from = tile.y[t] + panel * kPanelRows;
  if (panel + 1 < tile.panel_count) return Load(from);
  if (panel + 1 == tile.panel_count) return LoadLanes(from, tile.last_lanes);
  return Zero();
}

STOKER_INLINE void StoreSum(const Tile& tile, int p, int t, F sum) {
  const auto panel = static_cast<std::size_t>(p);
  if (static_cast<std::size_t>(t) >= tile.token_count || panel >= tile.panel_count) return;
  float* to = tile.y[t] + panel * kPanelRows;
  if (panel + 1 < tile.panel_count || tile.last_lanes == kPanelRows) {
    Store(to, sum);
  } else {
    StoreLanes(to, sum, tile.last_lanes);
  }
}

template <typename Weights, int kPanels, int kTokens>
void RunPlainTile(const Tile& tile) {
  F sums[kPanels][kTokens];
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) {
      sums[p][t] = tile.first_col == 0 ? Zero() : LoadSum(tile, p, t);
    }
  }
  Accumulate<Weights, kPanels, kTokens>(tile.panels, tile.x, tile.cols, sums);
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) StoreSum(tile, p, t, sums[p][t]);
  }
}

/// As RunPlainTile, a block of 128 columns at a time: y = block sum * scale + y.
template <typename Weights, int kPanels, int kTokens>
void RunScaledTile(const Tile& tile) {
  for (std::size_t col = 0; col < tile.cols; col += tensor::kFp8Block) {
    const std::byte* panels[kPanels];
    const float* x[kTokens];
    for (int p = 0; p < kPanels; ++p) panels[p] = tile.panels[p] + col * Weights::kColBytes;
    for (int t = 0; t < kTokens; ++t) x[t] = tile.x[t] + col;
    F sums[kPanels][kTokens];
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) sums[p][t] = Zero();
    }
    Accumulate<Weights, kPanels, kTokens>(panels, x, Smaller(tensor::kFp8Block, tile.cols - col),
                                          sums);
    const bool first = tile.first_col + col == 0;
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      const F scale = Set1(tile.scales[p][col / tensor::kFp8Block] * kFp8Unit);
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const F before = first ? Zero() : LoadSum(tile, p, t);
        StoreSum(tile, p, t, MulAdd(sums[p][t], scale, before));
      }
    }
  }
}

/// The sizes of token tiles; a tile of another size repeats its last token.
constexpr std::size_t kTileSizes[] = {1, 2, 3, 4, 6, 8, 12};

/// The smallest tile for `tokens` that is `kWidth` panels wide.
template <std::size_t kWidth>
constexpr std::size_t TileFor(std::size_t tokens) {
  for (const std::size_t size : kTileSizes) {
    if (tokens <= size && PanelTile(size) == kWidth) return Smaller(size, kMaxTokenTile);
  }
  return kMaxTokenTile;
}

template <std::size_t kWidth>
constexpr std::size_t Int4TileFor(std::size_t tokens) {
  for (const std::size_t size : kTileSizes) {
    if (tokens <= size && Int4PanelTile(size) == kWidth) return Smaller(size, kMaxTokenTile);
  }
  return kMaxTokenTile;
}

template <typename Weights, std::size_t kWidth, int kTokens>
STOKER_INLINE void RunTileOf(const Tile& tile) {
  if constexpr (kTokens <= kMaxTokenTile && PanelTile(kTokens) == kWidth) {
    if constexpr (Weights::kTile == TileKind::kOwn) {
      Weights::template RunTile<kWidth, kTokens>(tile);
    } else if constexpr (Weights::kTile == TileKind::kScaled) {
      RunScaledTile<Weights, kWidth, kTokens>(tile);
    } else {
      RunPlainTile<Weights, kWidth, kTokens>(tile);
    }
  }
}

template <typename Weights, std::size_t kWidth>
void RunTile(std::size_t tokens, const Tile& tile) {
  switch (tokens) {
    case 1:
      return RunTileOf<Weights, kWidth, 1>(tile);
    case 2:
      return RunTileOf<Weights, kWidth, 2>(tile);
    case 3:
      return RunTileOf<Weights, kWidth, 3>(tile);
    case 4:
      return RunTileOf<Weights, kWidth, 4>(tile);
    case 6:
      return RunTileOf<Weights, kWidth, 6>(tile);
    case 8:
      return RunTileOf<Weights, kWidth, 8>(tile);
    default:
      return RunTileOf<Weights, kWidth, 12>(tile);
  }
}

/// Even cuts of `tokens` into tiles of at most kMaxTokenTile.
STOKER_INLINE std::size_t TokensPerTile(std::size_t tokens) {
  const std::size_t tiles = (tokens + kMaxTokenTile - 1) / kMaxTokenTile;
  return (tokens + tiles - 1) / tiles;
}

/// Where a tile's operands are: panels by pointer, tokens by row.
struct TileSource {
  const std::byte* const* panels = nullptr;
  const float* const* scales = nullptr;
  std::size_t panel_count = 0;
  std::size_t last_lanes = kPanelRows;
  std::size_t first_col = 0;
  std::size_t cols = 0;
};

/// Multiplies kWidth panels with all tokens. x[t] and y[t] give a token's row, at the first column
/// and the first panel.
template <typename Weights, std::size_t kWidth, typename Rows, typename Out>
STOKER_INLINE void RunTokenTiles(const TileSource& source, std::size_t tokens, const Rows& x,
                                 const Out& y) {
  const std::size_t per_tile = TokensPerTile(tokens);
  const float* x_rows[kMaxTokenTile];
  float* y_rows[kMaxTokenTile];
  for (std::size_t first = 0; first < tokens; first += per_tile) {
    const std::size_t count = Smaller(per_tile, tokens - first);
    const std::size_t rounded = TileFor<kWidth>(count);
    for (std::size_t t = 0; t < rounded; ++t) {
      const std::size_t token = first + Smaller(t, count - 1);
      x_rows[t] = x[token];
      y_rows[t] = y[token];
    }
    RunTile<Weights, kWidth>(rounded, {.panels = source.panels,
                                       .scales = source.scales,
                                       .x = x_rows,
                                       .y = y_rows,
                                       .first_col = source.first_col,
                                       .cols = source.cols,
                                       .panel_count = source.panel_count,
                                       .token_count = count,
                                       .last_lanes = source.last_lanes});
  }
}

/// Up to kMaxPanelTile panels of a product.
struct PanelGroup {
  const std::byte* panels[kMaxPanelTile] = {};
  const float* scales[kMaxPanelTile] = {};
  std::size_t count = 0;
  std::size_t last_lanes = kPanelRows;

  /// Panels [first, first + width) of `args`, the last one repeated beyond the end.
  STOKER_INLINE PanelGroup(const ProductArgs& args, std::size_t first, std::size_t width) {
    count = Smaller(width, args.panels.size() - first);
    last_lanes = first + count == args.panels.size() ? args.last_lanes : kPanelRows;
    for (std::size_t p = 0; p < width; ++p) {
      panels[p] = args.panels[first + Smaller(p, count - 1)];
      if (args.format == WeightFormat::kFp8Block128) {
        scales[p] = reinterpret_cast<const float*>(panels[p] + args.cols * kPanelRows);
      }
    }
  }
};

/// The same rows, further to the right.
template <typename T>
STOKER_INLINE RowSet<T> Shifted(const RowSet<T>& rows, std::size_t elements) {
  return {rows.base + elements, rows.stride, rows.index};
}

template <typename Weights, std::size_t kWidth>
void DirectProduct(const ProductArgs& args) {
  for (std::size_t first = 0; first < args.panels.size(); first += kWidth) {
    const PanelGroup group(args, first, kWidth);
    RunTokenTiles<Weights, kWidth>({.panels = group.panels,
                                    .scales = group.scales,
                                    .panel_count = group.count,
                                    .last_lanes = group.last_lanes,
                                    .first_col = 0,
                                    .cols = args.cols},
                                   args.tokens, args.x, Shifted(args.y, first * kPanelRows));
  }
}

template <typename Weights>
void FloatProduct(const ProductArgs& args) {
  // As wide as the smallest tile of any width that holds the tokens.
  const std::size_t tokens = TokensPerTile(args.tokens);
  for (const std::size_t size : kTileSizes) {
    if (tokens > size) continue;
    switch (PanelTile(size)) {
      case 1:
        return DirectProduct<Weights, 1>(args);
      case 2:
        return DirectProduct<Weights, 2>(args);
      default:
        return DirectProduct<Weights, 4>(args);
    }
  }
}

/// INT4 panels times 8-bit tokens; sums stay in registers over all groups.
template <int kPanels, int kTokens>
void RunInt4Tile(const Tile& tile, const QuantizedGroup* const* x) {
  constexpr std::size_t kGroupBytes = kPanelRows * tensor::kInt4Group / 2;
  F sums[kPanels][kTokens];
  const std::byte* nibbles[kPanels];
  const std::byte* scales[kPanels];
  const QuantizedGroup* in[kTokens];
  const std::size_t groups = tile.cols / tensor::kInt4Group;
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    nibbles[p] = tile.panels[p];
    scales[p] = tile.panels[p] + groups * kGroupBytes;
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) sums[p][t] = Zero();
  }
  STOKER_UNROLL
  for (int t = 0; t < kTokens; ++t) in[t] = x[t];
  for (std::size_t group = 0; group < groups; ++group) {
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      PrefetchAhead<kGroupBytes>(nibbles[p] + group * kGroupBytes);
      PrefetchScales(scales[p] + group * 2 * kPanelRows);
      Nibbles low[4];
      Nibbles high[4];
      STOKER_UNROLL
      for (int i = 0; i < 4; ++i) {
        UnpackNibbles(nibbles[p] + group * kGroupBytes + 64 * static_cast<std::size_t>(i), low[i],
                      high[i]);
      }
      const F scale = LoadBf16(scales[p] + group * 2 * kPanelRows);
      // Several tokens in step, so that their sums do not wait for one another.
      constexpr int kInStep =
          kTokens <= kInt4InStep ? kTokens : (kTokens <= 2 * kInt4InStep ? kTokens / 2 : 1);
      STOKER_UNROLL
      for (int first = 0; first < kTokens; first += kInStep) {
        GroupSum dots[kInStep];
        STOKER_UNROLL
        for (int t = 0; t < kInStep; ++t) dots[t] = StartGroup(in[first + t][group].offset);
        STOKER_UNROLL
        for (int i = 0; i < 4; ++i) {
          STOKER_UNROLL
          for (int t = 0; t < kInStep; ++t) {
            AddDot4(dots[t], low[i], in[first + t][group].values + 4 * i);
          }
          STOKER_UNROLL
          for (int t = 0; t < kInStep; ++t) {
            AddDot4(dots[t], high[i], in[first + t][group].values + 16 + 4 * i);
          }
        }
        STOKER_UNROLL
        for (int t = 0; t < kInStep; ++t) {
          sums[p][first + t] = ExactMulAdd(
              EndGroup(dots[t]), Mul(scale, Set1(in[first + t][group].scale)), sums[p][first + t]);
        }
      }
    }
  }
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    STOKER_UNROLL
    for (int t = 0; t < kTokens; ++t) StoreSum(tile, p, t, sums[p][t]);
  }
}

template <std::size_t kWidth, int kTokens>
STOKER_INLINE void RunInt4TileOf(const Tile& tile, const QuantizedGroup* const* x) {
  if constexpr (kTokens <= kMaxTokenTile && Int4PanelTile(kTokens) == kWidth) {
    RunInt4Tile<kWidth, kTokens>(tile, x);
  }
}

template <std::size_t kWidth>
void RunInt4TileSized(std::size_t tokens, const Tile& tile, const QuantizedGroup* const* x) {
  switch (tokens) {
    case 1:
      return RunInt4TileOf<kWidth, 1>(tile, x);
    case 2:
      return RunInt4TileOf<kWidth, 2>(tile, x);
    case 3:
      return RunInt4TileOf<kWidth, 3>(tile, x);
    case 4:
      return RunInt4TileOf<kWidth, 4>(tile, x);
    case 6:
      return RunInt4TileOf<kWidth, 6>(tile, x);
    case 8:
      return RunInt4TileOf<kWidth, 8>(tile, x);
    default:
      return RunInt4TileOf<kWidth, 12>(tile, x);
  }
}

template <std::size_t kWidth>
void Int4Product(const ProductArgs& args) {
  const std::size_t per_tile = TokensPerTile(args.tokens);
  const QuantizedGroup* x_rows[kMaxTokenTile];
  float* y_rows[kMaxTokenTile];
  for (std::size_t first_panel = 0; first_panel < args.panels.size(); first_panel += kWidth) {
    const PanelGroup group(args, first_panel, kWidth);
    for (std::size_t first = 0; first < args.tokens; first += per_tile) {
      const std::size_t count = Smaller(per_tile, args.tokens - first);
      const std::size_t rounded = Int4TileFor<kWidth>(count);
      for (std::size_t t = 0; t < rounded; ++t) {
        const std::size_t token = first + Smaller(t, count - 1);
        x_rows[t] = args.quantized[token];
        y_rows[t] = args.y[token] + first_panel * kPanelRows;
      }
      RunInt4TileSized<kWidth>(rounded,
                               {.panels = group.panels,
                                .y = y_rows,
                                .cols = args.cols,
                                .panel_count = group.count,
                                .token_count = count,
                                .last_lanes = group.last_lanes},
                               x_rows);
    }
  }
}

void Int4Product(const ProductArgs& args) {
  const std::size_t tokens = TokensPerTile(args.tokens);
  for (const std::size_t size : kTileSizes) {
    if (tokens > size) continue;
    switch (Int4PanelTile(size)) {
      case 1:
        return Int4Product<1>(args);
      case 2:
        return Int4Product<2>(args);
      default:
        return Int4Product<4>(args);
    }
  }
}

/// Bf16 is how BF16 weights meet activations that may be rounded.
template <typename Bf16>
void Product(const ProductArgs& args) {
  if (args.tokens == 0 || args.panels.empty()) return;
  switch (args.format) {
    case WeightFormat::kF32:
      return FloatProduct<F32Weights>(args);
    case WeightFormat::kF16:
      return FloatProduct<F16Weights>(args);
    case WeightFormat::kBf16:
      return args.exact ? FloatProduct<Bf16Weights>(args) : FloatProduct<Bf16>(args);
    case WeightFormat::kFp8Block128:
      return FloatProduct<Fp8Weights>(args);
    case WeightFormat::kInt4Group32:
      return Int4Product(args);
  }
}

}  // namespace
}  // namespace stoker::kernels
