// Products of a few tokens with panels of weights, once for every instruction set and format.
//
// Every output element is summed over columns in ascending order by fused multiply-adds into one
// lane (FP8: per block of 128 columns, which is then scaled and added; INT4: per group of 32 in
// integers). Tiling by panels, tokens and columns never changes that order: a sum that is put
// aside as float32 and taken up again is the same sum.
namespace stoker::kernels {
namespace {

using tensor::WeightFormat;

constexpr std::size_t kMaxPanelTile = 4;
/// Beyond this many tokens a block of weights is expanded to float32 once, into the first-level
/// cache, instead of once per tile of tokens.
constexpr std::size_t kExpandTokens = 24;
/// Columns of such a block: two panels of it take 32 KiB. A multiple of an FP8 block.
constexpr std::size_t kExpandCols = 256;

STOKER_INLINE std::size_t Smaller(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

// How a format is read: Columns<...> columns of one panel at `from`, as float32.
struct F32Weights {
  static constexpr WeightFormat kFormat = WeightFormat::kF32;
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kColBytes = 64;
  static constexpr bool kScaled = false;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    columns[0] = Load(reinterpret_cast<const float*>(from));
  }
};
struct F16Weights {
  static constexpr WeightFormat kFormat = WeightFormat::kF16;
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kColBytes = 32;
  static constexpr bool kScaled = false;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    columns[0] = LoadF16(from);
  }
};
struct Bf16Weights {
  static constexpr WeightFormat kFormat = WeightFormat::kBf16;
  static constexpr std::size_t kStep = 2;
  static constexpr std::size_t kColBytes = 32;
  static constexpr bool kScaled = false;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    SplitBf16Pairs(Load(reinterpret_cast<const float*>(from)), columns[0], columns[1]);
  }
};
struct Fp8Weights {
  static constexpr WeightFormat kFormat = WeightFormat::kFp8Block128;
  static constexpr std::size_t kStep = 1;
  static constexpr std::size_t kColBytes = 16;
  static constexpr bool kScaled = true;
  STOKER_INLINE static void Read(const std::byte* from, F (&columns)[kStep]) {
    columns[0] = LoadE4m3(from);
  }
};
/// FP8 weights expanded to float32, their scales not yet applied.
struct Fp8Expanded : F32Weights {
  static constexpr bool kScaled = true;
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

/// sums += the products of columns [0, cols).
template <typename Weights, int kPanels, int kTokens>
STOKER_INLINE void Accumulate(const std::byte* const* panels, const float* const* x,
                              std::size_t cols, F (&sums)[kPanels][kTokens]) {
  constexpr std::size_t kStep = Weights::kStep;
  const std::byte* from[kPanels];
  STOKER_UNROLL
  for (int p = 0; p < kPanels; ++p) from[p] = panels[p];
  const float* in[kTokens];
  STOKER_UNROLL
  for (int t = 0; t < kTokens; ++t) in[t] = x[t];
  const std::size_t whole = cols / kStep * kStep;
  for (std::size_t col = 0; col < whole; col += kStep) {
    F weights[kPanels][kStep];
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) Weights::Read(from[p] + col * Weights::kColBytes, weights[p]);
    STOKER_UNROLL
    for (std::size_t s = 0; s < kStep; ++s) {
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
  if constexpr (kStep > 1) {
    if (whole == cols) return;
    STOKER_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      F weights[kStep];
      Weights::Read(from[p] + whole * Weights::kColBytes, weights);
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        sums[p][t] = MulAdd(weights[0], Set1(in[t][whole]), sums[p][t]);
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
      const F scale = Set1(tile.scales[p][col / tensor::kFp8Block]);
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
    if constexpr (Weights::kScaled) {
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
STOKER_INLINE void Expand(const std::byte* panel, std::size_t cols, float* out) {
  for (std::size_t col = 0; col < cols; col += Weights::kStep) {
    F columns[Weights::kStep];
    Weights::Read(panel + col * Weights::kColBytes, columns);
    for (std::size_t s = 0; s < Weights::kStep; ++s) {
      Store(out + (col + s) * kPanelRows, columns[s]);
    }
  }
}

/// For many tokens: a block of columns at a time, so that its activations stay in the second-level
/// cache while every panel meets them; sums wait in y between blocks.
template <typename Weights, typename Expanded>
void ExpandedProduct(const ProductArgs& args) {
  constexpr std::size_t kWidth = PanelTile(kMaxTokenTile);
  alignas(64) float expanded[kWidth][kExpandCols * kPanelRows];
  const std::byte* panels[kWidth];
  for (std::size_t p = 0; p < kWidth; ++p) {
    panels[p] = reinterpret_cast<const std::byte*>(expanded[p]);
  }
  for (std::size_t col = 0; col < args.cols; col += kExpandCols) {
    const std::size_t cols = Smaller(kExpandCols, args.cols - col);
    for (std::size_t first = 0; first < args.panels.size(); first += kWidth) {
      const PanelGroup group(args, first, kWidth);
      const float* scales[kWidth];
      for (std::size_t p = 0; p < kWidth; ++p) {
        scales[p] = group.scales[p] + col / tensor::kFp8Block;
        if (p < group.count) {
          Expand<Weights>(group.panels[p] + col * Weights::kColBytes, cols, expanded[p]);
        }
      }
      RunTokenTiles<Expanded, kWidth>({.panels = panels,
                                       .scales = scales,
                                       .panel_count = group.count,
                                       .last_lanes = group.last_lanes,
                                       .first_col = col,
                                       .cols = cols},
                                      args.tokens, Shifted(args.x, col),
                                      Shifted(args.y, first * kPanelRows));
    }
  }
}

template <typename Weights, typename Expanded>
void FloatProduct(const ProductArgs& args) {
  if (args.tokens > kExpandTokens) {
    ExpandedProduct<Weights, Expanded>(args);
    return;
  }
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
      Nibbles low[4];
      Nibbles high[4];
      STOKER_UNROLL
      for (int i = 0; i < 4; ++i) {
        UnpackNibbles(nibbles[p] + group * kGroupBytes + 64 * static_cast<std::size_t>(i), low[i],
                      high[i]);
      }
      const F scale = LoadBf16(scales[p] + group * 2 * kPanelRows);
      STOKER_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const QuantizedGroup& four = in[t][group];
        GroupSum sum = StartGroup(four.offset);
        STOKER_UNROLL
        for (int i = 0; i < 4; ++i) {
          AddDot4(sum, low[i], four.values + 4 * i);
          AddDot4(sum, high[i], four.values + 16 + 4 * i);
        }
        sums[p][t] = ExactMulAdd(EndGroup(sum), Mul(scale, Set1(four.scale)), sums[p][t]);
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

void Product(const ProductArgs& args) {
  if (args.tokens == 0 || args.panels.empty()) return;
  switch (args.format) {
    case WeightFormat::kF32:
      return FloatProduct<F32Weights, F32Weights>(args);
    case WeightFormat::kF16:
      return FloatProduct<F16Weights, F32Weights>(args);
    case WeightFormat::kBf16:
      return FloatProduct<Bf16Weights, F32Weights>(args);
    case WeightFormat::kFp8Block128:
      return FloatProduct<Fp8Weights, Fp8Expanded>(args);
    case WeightFormat::kInt4Group32:
      return Int4Product(args);
  }
}

}  // namespace
}  // namespace stoker::kernels
