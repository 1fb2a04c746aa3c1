#pragma once

// Latent attention over one segment of positions, once for every instruction set: two products
// whose "weights" are cache entries, expanded to float32 a block at a time.
namespace stoker::kernels {
namespace {

inline constexpr std::size_t kKvPanels = PanelTile(kMaxTokenTile);
/// Elements of keys expanded at a time: two panels of them take 16 KiB.
inline constexpr std::size_t kKeyElements = 128;

/// The entries of a segment, expanded piecewise. Positions beyond the segment's count read as
/// zeros: what lies there was never written.
template <KvDType kDType>
struct SegmentEntries {
  const std::byte* entries[kSegmentPositions];
  std::size_t count = 0;

  STOKER_INLINE explicit SegmentEntries(const MlaSegmentArgs& args) : count(args.count) {
    const std::int32_t* blocks = args.block_ids.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t position = args.first + i;
      entries[i] = args.kv->Entry(blocks[position / kKvBlockTokens], position % kKvBlockTokens);
    }
  }

  /// Elements [element, element + lanes) of entry `index`, zeros beyond.
  STOKER_INLINE F Read(std::size_t index, std::size_t element, std::size_t lanes) const {
    const std::byte* entry = entries[index];
    if constexpr (kDType == KvDType::kBf16) {
      return lanes == 16 ? LoadBf16(entry + 2 * element)
                         : LoadBf16Lanes(entry + 2 * element, lanes);
    }
    return LoadUpTo16(reinterpret_cast<const float*>(entry) + element, lanes);
  }
};

/// Entries [first, first + 16), elements [begin, end), as a panel [end - begin][16] whose lanes are
/// positions.
template <KvDType kDType>
void ExpandKeys(const SegmentEntries<kDType>& segment, std::size_t first, std::size_t begin,
                std::size_t end, float* out) {
  const bool full = first + 16 <= segment.count;
  std::size_t element = begin;
  if (kDType == KvDType::kBf16 && full) {
    // Pairs of neighbours travel through the transposition as one float.
    for (; element + 32 <= end; element += 32) {
      F pairs[16];
      for (std::size_t i = 0; i < 16; ++i) {
        pairs[i] = Load(reinterpret_cast<const float*>(segment.entries[first + i] + 2 * element));
      }
      Transpose16(pairs);
      float* to = out + (element - begin) * 16;
      for (std::size_t i = 0; i < 16; ++i) {
        F even;
        F odd;
        SplitBf16Pairs(pairs[i], even, odd);
        Store(to + 32 * i, even);
        Store(to + 32 * i + 16, odd);
      }
    }
  }
  for (; element < end; element += 16) {
    const std::size_t elements = Smaller(16, end - element);
    F rows[16];
    for (std::size_t i = 0; i < 16; ++i) {
      rows[i] = first + i < segment.count ? segment.Read(first + i, element, elements) : Zero();
    }
    Transpose16(rows);
    for (std::size_t i = 0; i < elements; ++i) Store(out + (element - begin + i) * 16, rows[i]);
  }
}

/// Rows of queries or scores by pointer, as RunTokenTiles takes them.
struct RowPointers {
  const float* const* rows = nullptr;

  STOKER_INLINE const float* operator[](std::size_t i) const { return rows[i]; }
};

/// scores[query][t] = q . entry t, for the segment's positions rounded up to whole panels.
template <KvDType kDType>
void Scores(const MlaSegmentArgs& args, const SegmentEntries<kDType>& segment) {
  const std::size_t latent = args.kv->latent;
  const std::size_t elements = latent + args.kv->rope;
  alignas(64) float expanded[kKvPanels][kKeyElements * kPanelRows];
  const std::byte* panels[kKvPanels];
  for (std::size_t p = 0; p < kKvPanels; ++p) {
    panels[p] = reinterpret_cast<const std::byte*>(expanded[p]);
  }
  const std::size_t panel_count = (args.count + 15) / 16;
  for (std::size_t first = 0; first < panel_count; first += kKvPanels) {
    const std::size_t width = Smaller(kKvPanels, panel_count - first);
    for (std::size_t begin = 0; begin < elements;) {
      // Queries keep latent and rope apart: no block spans both.
      const bool in_latent = begin < latent;
      const std::size_t end = Smaller(in_latent ? latent : elements, begin + kKeyElements);
      for (std::size_t p = 0; p < width; ++p) {
        ExpandKeys(segment, (first + p) * 16, begin, end, expanded[p]);
      }
      const float* rows[kMaxQueries];
      for (std::size_t query = 0; query < args.queries; ++query) {
        rows[query] =
            in_latent ? args.q_latent[query] + begin : args.q_rope[query] + (begin - latent);
      }
      RunTokenTiles<ExpandedWeights, kKvPanels>(
          {.panels = panels, .panel_count = width, .first_col = begin, .cols = end - begin},
          args.queries, RowPointers{rows},
          RowSet<float>{args.scores + first * 16, kSegmentPositions});
      begin = end;
    }
  }
}

/// Scores of one query to exp(score - max); zeros from `seen` to the last whole vector.
STOKER_INLINE void Softmax(float* scores, std::size_t seen, std::size_t count, float scale,
                           float& max, float& sum) {
  const F factor = Set1(scale);
  const F lowest = Set1(-__builtin_inff());
  F largest = lowest;
  for (std::size_t t = 0; t < count; t += 16) {
    F s = Mul(Load(scores + t), factor);
    if (t + 16 > seen) {
      // Hidden positions are as good as infinitely far.
      float lanes[16];
      Store(lanes, s);
      for (std::size_t i = seen > t ? seen - t : 0; i < 16; ++i) lanes[i] = -__builtin_inff();
      s = Load(lanes);
    }
    Store(scores + t, s);
    largest = Max(s, largest);
  }
  float lanes[16];
  Store(lanes, largest);
  max = lanes[0];
  for (std::size_t i = 1; i < 16; ++i) max = lanes[i] > max ? lanes[i] : max;
  // A NaN score is not the largest, but makes its own exponential NaN, and so the sum.
  const F offset = Set1(max);
  F total = Zero();
  for (std::size_t t = 0; t < count; t += 16) {
    const F p = Exp(Sub(Load(scores + t), offset));
    Store(scores + t, p);
    total = Add(total, p);
  }
  sum = SumLanes(total);
}

/// out[query][i] = sum over t of scores[query][t] * latent i of entry t.
template <KvDType kDType>
void Values(const MlaSegmentArgs& args, const SegmentEntries<kDType>& segment) {
  const std::size_t latent = args.kv->latent;
  alignas(64) float expanded[kKvPanels][kSegmentPositions * kPanelRows];
  const std::byte* panels[kKvPanels];
  for (std::size_t p = 0; p < kKvPanels; ++p) {
    panels[p] = reinterpret_cast<const std::byte*>(expanded[p]);
  }
  for (std::size_t element = 0; element < latent; element += kKvPanels * 16) {
    const std::size_t end = Smaller(latent, element + kKvPanels * 16);
    const std::size_t width = (end - element + 15) / 16;
    for (std::size_t t = 0; t < args.count; ++t) {
      for (std::size_t p = 0; p < width; ++p) {
        const std::size_t begin = element + 16 * p;
        Store(expanded[p] + 16 * t, segment.Read(t, begin, Smaller(16, end - begin)));
      }
    }
    RunTokenTiles<ExpandedWeights, kKvPanels>({.panels = panels,
                                               .panel_count = width,
                                               .last_lanes = end - element - 16 * (width - 1),
                                               .first_col = 0,
                                               .cols = args.count},
                                              args.queries,
                                              RowSet<const float>{args.scores, kSegmentPositions},
                                              RowSet<float>{args.out + element, latent});
  }
}

template <KvDType kDType>
void MlaSegmentOf(const MlaSegmentArgs& args) {
  const SegmentEntries<kDType> segment(args);
  Scores(args, segment);
  for (std::size_t query = 0; query < args.queries; ++query) {
    const std::size_t visible = args.visible[query];
    const std::size_t seen = visible <= args.first ? 0 : Smaller(args.count, visible - args.first);
    float* scores = args.scores + query * kSegmentPositions;
    if (seen == 0) {
      // Its row still takes part in the product below.
      for (std::size_t t = 0; t < args.count; ++t) scores[t] = 0.0F;
      args.max[query] = 0.0F;
      args.sum[query] = 0.0F;
      continue;
    }
    Softmax(scores, seen, args.count, args.scale, args.max[query], args.sum[query]);
  }
  Values(args, segment);
}

void MlaSegment(const MlaSegmentArgs& args) {
  if (args.kv->dtype == KvDType::kBf16) {
    MlaSegmentOf<KvDType::kBf16>(args);
  } else {
    MlaSegmentOf<KvDType::kF32>(args);
  }
}

void MlaMerge(const float* out, float max, float sum, std::size_t latent, SoftmaxState& state) {
  if (sum == 0.0F) return;
  // Adding zero turns a negative zero, which a hidden position may or may not have left, into a
  // positive one.
  if (state.sum == 0.0F) {
    for (std::size_t i = 0; i < latent; i += 16) {
      const std::size_t lanes = Smaller(16, latent - i);
      StoreUpTo16(state.out + i, Add(LoadUpTo16(out + i, lanes), Zero()), lanes);
    }
    state.max = max;
    state.sum = sum;
    return;
  }
  const float new_max = max > state.max ? max : state.max;
  float factors[16] = {state.max - new_max, max - new_max};
  Store(factors, Exp(Load(factors)));
  const F keep = Set1(factors[0]);
  const F add = Set1(factors[1]);
  for (std::size_t i = 0; i < latent; i += 16) {
    const std::size_t lanes = Smaller(16, latent - i);
    const F part = Mul(Add(LoadUpTo16(out + i, lanes), Zero()), add);
    StoreUpTo16(state.out + i, MulAdd(LoadUpTo16(state.out + i, lanes), keep, part), lanes);
  }
  state.max = new_max;
  state.sum = state.sum * factors[0] + sum * factors[1];
}

void MlaFinish(const SoftmaxState& state, std::size_t latent, float* y) {
  const F inverse = Set1(state.sum == 0.0F ? 0.0F : 1.0F / state.sum);
  for (std::size_t i = 0; i < latent; i += 16) {
    const std::size_t lanes = Smaller(16, latent - i);
    StoreUpTo16(y + i, Mul(LoadUpTo16(state.out + i, lanes), inverse), lanes);
  }
}

}  // namespace
}  // namespace stoker::kernels
