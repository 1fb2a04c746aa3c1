#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Scalar conversions between float32 and the short float types, bit for bit as hardware does
/// them (round to nearest, ties to even). Kernels have their own vector forms, tested against
/// these.
namespace stoker::tensor {

/// A bfloat16 as stored: the upper half of a float32.
enum class Bf16 : std::uint16_t {};
/// An IEEE binary16 as stored.
enum class F16 : std::uint16_t {};
/// An OCP FP8 E4M3 (no infinities; S.1111.111 is NaN) as stored.
enum class F8E4M3 : std::uint8_t {};

constexpr float ToFloat(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

constexpr Bf16 ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U)
    return Bf16{static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return Bf16{static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

constexpr float ToFloat(F16 value) {
  const auto bits = static_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

constexpr float ToFloat(F8E4M3 value) {
  const auto bits = static_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x80U) << 24;
  const std::uint32_t exponent = (bits >> 3) & 0xfU;
  const std::uint32_t mantissa = bits & 0x7U;
  if ((bits & 0x7fU) == 0x7fU) return std::numeric_limits<float>::quiet_NaN();
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 120U) << 23) | (mantissa << 20));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-9F;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace stoker::tensor
