#include "tensor/dequantise.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "tensor/float_types.h"

namespace stoker::tensor {
namespace {

template <typename T>
T Load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Element (r, c) of the block goes to target[r * row_step + c * col_step].
struct Steps {
  std::size_t row = 0;
  std::size_t col = 0;
};

template <typename T>
void CopyBits(const LinearWeight& source, BlockOfRows block, Steps steps, std::byte* target) {
  for (std::size_t row = 0; row < block.rows; ++row) {
    for (std::size_t col = 0; col < block.cols; ++col) {
      const T bits = Load<T>(source.weight, (block.first_row + row) * source.cols + col);
      std::memcpy(target + (row * steps.row + col * steps.col) * sizeof(T), &bits, sizeof(T));
    }
  }
}

template <typename T, typename Convert>
void CopyValues(const LinearWeight& source, BlockOfRows block, Steps steps, std::byte* target,
                Convert convert) {
  for (std::size_t row = 0; row < block.rows; ++row) {
    for (std::size_t col = 0; col < block.cols; ++col) {
      const T value = convert(ValueAt(source, block.first_row + row, col));
      std::memcpy(target + (row * steps.row + col * steps.col) * sizeof(T), &value, sizeof(T));
    }
  }
}

OwnedWeight Copy(const LinearWeight& source, WeightFormat format, BlockOfRows block,
                 bool transpose) {
  const Steps steps = transpose ? Steps{1, block.rows} : Steps{block.cols, 1};
  OwnedWeight result;
  result.format = format;
  result.rows = transpose ? block.cols : block.rows;
  result.cols = transpose ? block.rows : block.cols;
  const bool wide = format == WeightFormat::kF32;
  result.bytes.resize(block.rows * block.cols * (wide ? 4 : 2));
  std::byte* target = result.bytes.data();
  if (format == source.format) {
    wide ? CopyBits<std::uint32_t>(source, block, steps, target)
         : CopyBits<std::uint16_t>(source, block, steps, target);
  } else if (wide) {
    CopyValues<float>(source, block, steps, target, [](float value) { return value; });
  } else {
    STOKER_CHECK(format == WeightFormat::kBf16);
    CopyValues<Bf16>(source, block, steps, target, ToBf16);
  }
  return result;
}

}  // namespace

float ValueAt(const LinearWeight& weight, std::size_t row, std::size_t col) {
  const std::size_t index = row * weight.cols + col;
  switch (weight.format) {
    case WeightFormat::kF32:
      return Load<float>(weight.weight, index);
    case WeightFormat::kF16:
      return ToFloat(Load<F16>(weight.weight, index));
    case WeightFormat::kBf16:
      return ToFloat(Load<Bf16>(weight.weight, index));
    case WeightFormat::kFp8Block128: {
      const std::size_t blocks = Fp8Blocks(weight.cols);
      const float scale = Load<float>(weight.scale, row / kFp8Block * blocks + col / kFp8Block);
      return ToFloat(Load<F8E4M3>(weight.weight, index)) * scale;
    }
    case WeightFormat::kInt4Group32: {
      const auto word = Load<std::uint32_t>(weight.weight, index / kInt4PerWord);
      const int nibble = static_cast<int>((word >> (4 * (index % kInt4PerWord))) & 0xfU);
      const auto scale =
          Load<Bf16>(weight.scale, row * (weight.cols / kInt4Group) + col / kInt4Group);
      return static_cast<float>(nibble - 8) * ToFloat(scale);
    }
  }
  return 0.0F;
}

absl::Status CheckFinite(const LinearWeight& weight, std::size_t first_row, std::size_t rows) {
  for (std::size_t row = first_row; row < first_row + rows; ++row) {
    for (std::size_t col = 0; col < weight.cols; ++col) {
      if (std::isfinite(ValueAt(weight, row, col))) continue;
      return InvalidArgument("the value at row {}, column {} is not a finite number", row, col);
    }
  }
  return absl::OkStatus();
}

OwnedWeight CopiedBlock(const LinearWeight& source, WeightFormat format, BlockOfRows block) {
  return Copy(source, format, block, false);
}

OwnedWeight TransposedBlock(const LinearWeight& source, WeightFormat format, BlockOfRows block) {
  return Copy(source, format, block, true);
}

}  // namespace stoker::tensor
