#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "tensor/linear_weight.h"

namespace stoker::kernels {

/// Output rows that lie side by side in the lanes of one vector: the unit of packing, of work
/// sharing between threads, and of NUMA placement.
inline constexpr std::size_t kPanelRows = 16;

/// A weight matrix W [rows, cols] in the layout that kernels read, the same for every instruction
/// set. Does not own its memory. `data` is 64-byte aligned.
///
/// Rows are grouped in panels of kPanelRows (the last one padded with zero rows); panels follow one
/// another, each read front to back once per use, every vector load aligned. Within a panel:
///   kF32, kF16    [cols][16]
///   kBf16         [cols / 2][16][2]  pairs of columns side by side (cols odd: last pair padded),
///                 so that one vector load expands to two columns with a shift and a mask
///   kFp8Block128  [cols][16] bytes, then the scales [ceil(cols / 128)] float, padded to 64 bytes
///   kInt4Group32  [cols / 32][256 bytes] nibbles, then [cols / 32][16] BF16 scales.
///                 A group's 256 bytes are four vectors of 64: byte (row r, i) of vector v holds
///                 column 4v + i in its low nibble and column 16 + 4v + i in its high nibble,
///                 at byte 4r + i, each stored as value + 8.
struct PackedMatrix {
  tensor::WeightFormat format = tensor::WeightFormat::kBf16;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::byte* data = nullptr;

  [[nodiscard]] std::size_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
  [[nodiscard]] std::size_t panel_bytes() const;
  /// Bytes of the whole matrix: what one use of it reads from memory.
  [[nodiscard]] std::size_t bytes() const { return panels() * panel_bytes(); }
  [[nodiscard]] const std::byte* panel(std::size_t index) const {
    return data + index * panel_bytes();
  }
};

/// Bytes that a matrix of this format and shape takes when packed; a multiple of 64.
std::size_t PackedBytes(tensor::WeightFormat format, std::size_t rows, std::size_t cols);

/// Packs panels [first_panel, first_panel + panel_count) of `source` into their place in `target`,
/// which has the same format and shape. Safe to call for disjoint panels from several threads.
/// Errors: kInvalidArgument for a NaN or infinite scale, or an FP8 NaN code, naming row and column.
absl::Status PackPanels(const tensor::LinearWeight& source, const PackedMatrix& target,
                        std::size_t first_panel, std::size_t panel_count);

/// W[row, col] as float32: the definition that every kernel is tested against.
float WeightAt(const PackedMatrix& matrix, std::size_t row, std::size_t col);

}  // namespace stoker::kernels
