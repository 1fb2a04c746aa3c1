#pragma once

// Ops that work on one row at a time, once for every instruction set.
namespace stoker::kernels {
namespace {

STOKER_INLINE F LoadUpTo16(const float* from, std::size_t lanes) {
  return lanes == 16 ? Load(from) : LoadLanes(from, lanes);
}
STOKER_INLINE void StoreUpTo16(float* to, F a, std::size_t lanes) {
  if (lanes == 16) {
    Store(to, a);
  } else {
    StoreLanes(to, a, lanes);
  }
}

/// e^x with a relative error below 2e-7 where the result is a normal number; 0 below -104, infinity
/// above 88.8; NaN stays NaN. x = n ln 2 + r, |r| <= ln 2 / 2, and the Taylor series of e^r to the
/// seventh power, whose remainder is below 6e-9.
STOKER_INLINE F Exp(F x) {
  // The constant comes first: these keep the second operand where either is NaN.
  x = Min(Set1(89.0F), Max(Set1(-105.0F), x));
  const F n = Round(Mul(x, Set1(1.44269504F)));
  // ln 2 in two parts, the first with enough trailing zeros that n times it is exact.
  const F minus_n = Sub(Zero(), n);
  F r = MulAdd(minus_n, Set1(0x1.62e4p-1F), x);
  r = MulAdd(minus_n, Set1(0x1.7f7d1cp-20F), r);
  F power = Set1(1.0F / 5040.0F);
  power = MulAdd(power, r, Set1(1.0F / 720.0F));
  power = MulAdd(power, r, Set1(1.0F / 120.0F));
  power = MulAdd(power, r, Set1(1.0F / 24.0F));
  power = MulAdd(power, r, Set1(1.0F / 6.0F));
  power = MulAdd(power, r, Set1(0.5F));
  power = MulAdd(power, r, Set1(1.0F));
  power = MulAdd(power, r, Set1(1.0F));
  return TimesPowerOf2(power, n);
}

void Quantize(const float* x, std::size_t groups, QuantizedGroup* out) {
  for (std::size_t group = 0; group < groups; ++group) {
    const F a = Load(x + group * tensor::kInt4Group);
    const F b = Load(x + group * tensor::kInt4Group + 16);
    const float largest = __builtin_bit_cast(float, LargestLane(MaxInt(AbsBits(a), AbsBits(b))));
    const bool zero = largest < kSmallestQuantized;
    const F inverse = Set1(zero ? 0.0F : 127.0F / largest);
    const I qa = RoundToInt(Mul(a, inverse));
    const I qb = RoundToInt(Mul(b, inverse));
    StoreInt8(out[group].values, qa);
    StoreInt8(out[group].values + 16, qb);
    out[group].scale = zero ? 0.0F : largest * (1.0F / 127.0F);
    // A group that is not finite has arbitrary values: wrap rather than overflow.
    out[group].offset =
        static_cast<std::int32_t>(0U - 8U * static_cast<std::uint32_t>(SumLanes(AddInt(qa, qb))));
  }
}

void Swiglu(const float* gate, const float* up, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t lanes = Smaller(16, count - i);
    const F g = LoadUpTo16(gate + i, lanes);
    const F silu = Div(g, Add(Set1(1.0F), Exp(Sub(Zero(), g))));
    StoreUpTo16(out + i, Mul(silu, LoadUpTo16(up + i, lanes)), lanes);
  }
}

void RmsNormRow(const float* x, const float* weight, std::size_t cols, float eps, float* y) {
  F squares = Zero();
  for (std::size_t i = 0; i < cols; i += 16) {
    const F a = LoadUpTo16(x + i, Smaller(16, cols - i));
    squares = MulAdd(a, a, squares);
  }
  const float mean = SumLanes(squares) / static_cast<float>(cols);
  const F factor = Set1(1.0F / __builtin_sqrtf(mean + eps));
  for (std::size_t i = 0; i < cols; i += 16) {
    const std::size_t lanes = Smaller(16, cols - i);
    StoreUpTo16(y + i, Mul(Mul(LoadUpTo16(x + i, lanes), factor), LoadUpTo16(weight + i, lanes)),
                lanes);
  }
}

void AddRow(const float* x, std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t lanes = Smaller(16, count - i);
    StoreUpTo16(y + i, Add(LoadUpTo16(y + i, lanes), LoadUpTo16(x + i, lanes)), lanes);
  }
}

void AddScaled(const float* x, std::size_t stride, std::span<const float> weights,
               std::size_t count, float* y) {
  const float* weight = weights.data();
  const std::size_t rows = weights.size();
  for (std::size_t i = 0; i < count; i += 16) {
    const std::size_t lanes = Smaller(16, count - i);
    F sum = LoadUpTo16(y + i, lanes);
    for (std::size_t row = 0; row < rows; ++row) {
      sum = MulAdd(Set1(weight[row]), LoadUpTo16(x + row * stride + i, lanes), sum);
    }
    StoreUpTo16(y + i, sum, lanes);
  }
}

void RopeSlice(float* x, std::size_t dim, const float* cos, const float* sin) {
  for (std::size_t i = 0; i < dim / 2; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

void StoreKvRow(const float* x, std::size_t count, KvDType dtype, std::byte* out) {
  if (dtype == KvDType::kF32) {
    __builtin_memcpy(out, x, count * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const tensor::Bf16 value = tensor::ToBf16(x[i]);
    __builtin_memcpy(out + 2 * i, &value, sizeof(value));
  }
}

}  // namespace
}  // namespace stoker::kernels
