#pragma once

// The primitives that kernels are written in, here for any processor: plain loops over 16 lanes.
// This is also where each one's meaning is written down.
namespace stoker::kernels {
namespace {

/// 16 floats, 16 integers.
struct F {
  float v[16];
};
struct I {
  std::int32_t v[16];
};

template <typename Fn>
STOKER_INLINE F EachLane(Fn fn) {
  F result;
  for (int i = 0; i < 16; ++i) result.v[i] = fn(i);
  return result;
}

STOKER_INLINE F Set1(float value) {
  return EachLane([=](int) { return value; });
}
STOKER_INLINE F Zero() {
  return Set1(0.0F);
}
STOKER_INLINE F Load(const float* from) {
  // Where checkpoints are packed, what is read lies at any address.
  F result;
  __builtin_memcpy(result.v, from, sizeof(result.v));
  return result;
}
STOKER_INLINE void Store(float* to, F a) {
  for (int i = 0; i < 16; ++i) to[i] = a.v[i];
}
/// The first `lanes` lanes; zeros beyond.
STOKER_INLINE F LoadLanes(const float* from, std::size_t lanes) {
  F result = Zero();
  __builtin_memcpy(result.v, from, lanes * sizeof(float));
  return result;
}
STOKER_INLINE void StoreLanes(float* to, F a, std::size_t lanes) {
  for (std::size_t i = 0; i < lanes; ++i) to[i] = a.v[i];
}
STOKER_INLINE F Add(F a, F b) {
  return EachLane([&](int i) { return a.v[i] + b.v[i]; });
}
STOKER_INLINE F Sub(F a, F b) {
  return EachLane([&](int i) { return a.v[i] - b.v[i]; });
}
STOKER_INLINE F Mul(F a, F b) {
  return EachLane([&](int i) { return a.v[i] * b.v[i]; });
}
STOKER_INLINE F Div(F a, F b) {
  return EachLane([&](int i) { return a.v[i] / b.v[i]; });
}
/// b where either is NaN.
STOKER_INLINE F Max(F a, F b) {
  return EachLane([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
STOKER_INLINE F Min(F a, F b) {
  return EachLane([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
/// a * b + c, rounded once where the instruction set can, else twice.
STOKER_INLINE F MulAdd(F a, F b, F c) {
  return EachLane([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
}
/// a * b + c rounded once, in every instruction set.
STOKER_INLINE F ExactMulAdd(F a, F b, F c) {
  return EachLane([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
/// To the nearest integer, ties to even; |a| < 2^22.
STOKER_INLINE F Round(F a) {
  constexpr float kMagic = 0x1.8p23F;
  return EachLane([&](int i) { return (a.v[i] + kMagic) - kMagic; });
}
/// a * 2^n for an integral n in [-252, 252].
STOKER_INLINE F TimesPowerOf2(F a, F n) {
  return EachLane([&](int i) {
    // Two steps, so that both factors are normal numbers.
    const int whole = n.v[i] == n.v[i] ? static_cast<int>(n.v[i]) : 0;
    const int half = whole / 2;
    const auto power = [](int exponent) {
      return __builtin_bit_cast(float, static_cast<std::uint32_t>(exponent + 127) << 23);
    };
    return a.v[i] * power(half) * power(whole - half);
  });
}

STOKER_INLINE float Bf16At(const std::byte* from, std::size_t index) {
  tensor::Bf16 value{};
  __builtin_memcpy(&value, from + 2 * index, 2);
  return tensor::ToFloat(value);
}
STOKER_INLINE F LoadBf16(const std::byte* from) {
  return EachLane([=](int i) { return Bf16At(from, static_cast<std::size_t>(i)); });
}
STOKER_INLINE F LoadBf16Lanes(const std::byte* from, std::size_t lanes) {
  F result = Zero();
  for (std::size_t i = 0; i < lanes; ++i) result.v[i] = Bf16At(from, i);
  return result;
}
/// Lane i of `pairs` holds two BF16 values: the lower goes to even, the upper to odd.
STOKER_INLINE void SplitBf16Pairs(F pairs, F& even, F& odd) {
  for (int i = 0; i < 16; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, pairs.v[i]);
    even.v[i] = __builtin_bit_cast(float, bits << 16);
    odd.v[i] = __builtin_bit_cast(float, bits & 0xffff0000U);
  }
}
STOKER_INLINE F LoadF16(const std::byte* from) {
  return EachLane([=](int i) {
    tensor::F16 value{};
    __builtin_memcpy(&value, from + 2 * i, 2);
    return tensor::ToFloat(value);
  });
}
/// Two columns of FP8, times 2^-8. Not for NaN codes, which packing refuses.
STOKER_INLINE void LoadE4m3(const std::byte* from, F& first, F& second) {
  for (int i = 0; i < 16; ++i) {
    first.v[i] = tensor::ToFloat(static_cast<tensor::F8E4M3>(from[i])) * 0x1p-8F;
    second.v[i] = tensor::ToFloat(static_cast<tensor::F8E4M3>(from[16 + i])) * 0x1p-8F;
  }
}

/// 64 weights as bytes 0 … 15: byte 4 r + i is column i of row r.
struct Nibbles {
  std::uint8_t v[64];
};
STOKER_INLINE void UnpackNibbles(const std::byte* from, Nibbles& low, Nibbles& high) {
  for (int i = 0; i < 64; ++i) {
    const auto byte = static_cast<unsigned>(from[i]);
    low.v[i] = static_cast<std::uint8_t>(byte & 0xfU);
    high.v[i] = static_cast<std::uint8_t>(byte >> 4);
  }
}
/// Exact integer sums of one group's products, per row: StartGroup, AddDot4 for each four columns,
/// EndGroup.
struct GroupSum {
  std::int32_t v[16];
};
STOKER_INLINE GroupSum StartGroup(std::int32_t offset) {
  GroupSum sum;
  for (int i = 0; i < 16; ++i) sum.v[i] = offset;
  return sum;
}
STOKER_INLINE void AddDot4(GroupSum& sum, const Nibbles& weights, const std::int8_t* x) {
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < 4; ++i) sum.v[row] += weights.v[4 * row + i] * x[i];
  }
}
STOKER_INLINE F EndGroup(const GroupSum& sum) {
  return EachLane([&](int i) { return static_cast<float>(sum.v[i]); });
}

/// The bits of |a|: ordered as the magnitudes are, NaN above everything.
STOKER_INLINE I AbsBits(F a) {
  I result;
  for (int i = 0; i < 16; ++i) {
    result.v[i] = __builtin_bit_cast(std::int32_t, a.v[i]) & 0x7fffffff;
  }
  return result;
}
STOKER_INLINE I MaxInt(I a, I b) {
  I result;
  for (int i = 0; i < 16; ++i) result.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return result;
}
STOKER_INLINE std::int32_t LargestLane(I a) {
  std::int32_t largest = a.v[0];
  for (int i = 1; i < 16; ++i) largest = a.v[i] > largest ? a.v[i] : largest;
  return largest;
}
/// Ties to even; unspecified for |a| >= 2^22 and NaN.
STOKER_INLINE I RoundToInt(F a) {
  constexpr float kMagic = 0x1.8p23F;
  I result;
  for (int i = 0; i < 16; ++i) {
    result.v[i] = static_cast<std::int32_t>(__builtin_bit_cast(std::uint32_t, a.v[i] + kMagic) -
                                            __builtin_bit_cast(std::uint32_t, kMagic));
  }
  return result;
}
STOKER_INLINE I BitsOf(F a) {
  return __builtin_bit_cast(I, a);
}
STOKER_INLINE F FromBits(I a) {
  return __builtin_bit_cast(F, a);
}
/// The bits of each lane as unsigned numbers.
template <typename Fn>
STOKER_INLINE I EachWord(Fn fn) {
  I result;
  for (int i = 0; i < 16; ++i) result.v[i] = static_cast<std::int32_t>(fn(i));
  return result;
}
STOKER_INLINE std::uint32_t Word(const I& a, int i) {
  return static_cast<std::uint32_t>(a.v[i]);
}
STOKER_INLINE I AndInt(I a, int mask) {
  return EachWord([&](int i) { return Word(a, i) & static_cast<std::uint32_t>(mask); });
}
STOKER_INLINE I OrInt(I a, I b) {
  return EachWord([&](int i) { return Word(a, i) | Word(b, i); });
}
template <int kBits>
STOKER_INLINE I ShiftLeft(I a) {
  return EachWord([&](int i) { return Word(a, i) << kBits; });
}
/// Zeros come in from the left.
template <int kBits>
STOKER_INLINE I ShiftRight(I a) {
  return EachWord([&](int i) { return Word(a, i) >> kBits; });
}
STOKER_INLINE I AddInt(I a, I b) {
  I result;
  for (int i = 0; i < 16; ++i) {
    result.v[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) +
                                            static_cast<std::uint32_t>(b.v[i]));
  }
  return result;
}
STOKER_INLINE std::int32_t SumLanes(I a) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += static_cast<std::uint32_t>(a.v[i]);
  return static_cast<std::int32_t>(sum);
}
STOKER_INLINE void StoreInt8(std::int8_t* to, I a) {
  for (int i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(a.v[i]);
}
/// Halves added to halves, down to one lane.
STOKER_INLINE float SumLanes(F a) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) a.v[i] += a.v[i + width];
  }
  return a.v[0];
}

/// rows[i] lane j becomes rows[j] lane i; moves bits, whatever they mean.
STOKER_INLINE void Transpose16(F (&rows)[16]) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < i; ++j) {
      const float swap = rows[i].v[j];
      rows[i].v[j] = rows[j].v[i];
      rows[j].v[i] = swap;
    }
  }
}

}  // namespace
}  // namespace stoker::kernels
