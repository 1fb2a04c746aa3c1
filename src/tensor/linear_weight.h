#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/math.h"

namespace stoker::tensor {

/// How the weights of a linear layer are stored.
enum class WeightFormat : std::uint8_t {
  kF32,
  kF16,
  kBf16,
  /// FP8 E4M3 with one float32 multiplier per 128 x 128 block (DeepSeek's `weight_scale_inv`).
  kFp8Block128,
  /// Signed 4-bit with one BF16 multiplier per 32 columns (compressed-tensors `pack-quantized`).
  kInt4Group32,
};

constexpr std::string_view Name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "F32";
    case WeightFormat::kF16:
      return "F16";
    case WeightFormat::kBf16:
      return "BF16";
    case WeightFormat::kFp8Block128:
      return "FP8";
    case WeightFormat::kInt4Group32:
      return "INT4";
  }
  return "?";
}

/// Rows, and columns, of a block that shares an FP8 multiplier.
inline constexpr std::size_t kFp8Block = 128;
/// Columns that share an INT4 multiplier.
inline constexpr std::size_t kInt4Group = 32;
/// INT4 values of one stored word.
inline constexpr std::size_t kInt4PerWord = 8;

/// Blocks of kFp8Block that `size` rows or columns take.
constexpr std::size_t Fp8Blocks(std::size_t size) {
  return DivCeil(size, kFp8Block);
}

/// A linear layer's weights as a checkpoint stores them: y = x W^T with W [rows, cols].
/// Does not own its memory; alignment of `weight` and `scale` is not promised.
struct LinearWeight {
  WeightFormat format = WeightFormat::kBf16;
  std::size_t rows = 0;
  std::size_t cols = 0;
  /// kF32/kF16/kBf16: [rows, cols]. kFp8Block128: [rows, cols] bytes.
  /// kInt4Group32: [rows, cols / 8] little-endian 32-bit words, element j of a word at bits
  /// [4j, 4j + 3], stored as value + 8.
  std::span<const std::byte> weight;
  /// kFp8Block128: F32 [ceil(rows / 128), ceil(cols / 128)]. kInt4Group32: BF16 [rows, cols / 32].
  /// Empty for the others.
  std::span<const std::byte> scale;
};

}  // namespace stoker::tensor
