#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stoker::checkpoint {

/// What the bytes of a synthetic tensor are.
enum class Fill : std::uint8_t {
  kUniformBf16,  ///< symmetric about 0, of the given standard deviation
  kUniformF32,   ///< the same in float32
  kOneBf16,      ///< all 1
  kInt4Codes,    ///< INT4 words, mean zero
  kInt4Scale,    ///< BF16, such that INT4 weights have the given standard deviation
  kFp8Codes,     ///< every E4M3 code but NaN
  kFp8Scale,     ///< F32, such that FP8 weights have the given standard deviation
  kMatrixShape,  ///< the two I32 given
};

/// How to fill one tensor. `key` separates its random numbers from those of all others.
struct FillSpec {
  Fill fill = Fill::kUniformBf16;
  std::uint64_t key = 0;
  double deviation = 1.0;
  std::int32_t rows = 0;  ///< kMatrixShape only
  std::int32_t cols = 0;
};

/// The key of tensor `name` under `seed`.
std::uint64_t FillKey(std::uint64_t seed, std::string_view name);

/// Writes bytes [offset, offset + out.size()) of the tensor. `offset` is a multiple of 8. A pure
/// function of its arguments, the same on every machine: tensors can be filled in any order, in
/// pieces, by any thread.
void FillBytes(const FillSpec& spec, std::uint64_t offset, std::span<std::byte> out);

}  // namespace stoker::checkpoint
