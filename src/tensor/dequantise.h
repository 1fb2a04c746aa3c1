#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "tensor/linear_weight.h"

namespace stoker::tensor {

/// W[row, col] of a weight as stored, as float32: the definition of every format.
float ValueAt(const LinearWeight& weight, std::size_t row, std::size_t col);

/// Fails where an element of rows [first_row, first_row + rows) is NaN or infinite, naming the
/// first one's row and column.
absl::Status CheckFinite(const LinearWeight& weight, std::size_t first_row, std::size_t rows);

/// A small weight that owns its bytes. Movable; views stay valid when it moves.
struct OwnedWeight {
  WeightFormat format = WeightFormat::kF32;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<std::byte> bytes;

  [[nodiscard]] LinearWeight view() const {
    return {.format = format, .rows = rows, .cols = cols, .weight = bytes, .scale = {}};
  }
};

/// Rows [first_row, first_row + rows) and the first `cols` columns of a weight.
struct BlockOfRows {
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// A copy of a block in `format`, which is the source's own unquantised format (a copy of bits), or
/// kF32 or kBf16 (rounded to nearest) of a quantised source.
OwnedWeight CopiedBlock(const LinearWeight& source, WeightFormat format, BlockOfRows block);

/// The same, transposed: [block.cols, block.rows].
OwnedWeight TransposedBlock(const LinearWeight& source, WeightFormat format, BlockOfRows block);

}  // namespace stoker::tensor
