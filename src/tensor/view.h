#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "tensor/dtype.h"

namespace stoker::tensor {

/// A matrix somewhere in memory: `rows` rows of `cols` elements, `stride` elements apart. Does not
/// own its memory.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  MatrixView() = default;
  MatrixView(T* first, std::size_t row_count, std::size_t col_count)
      : MatrixView(first, row_count, col_count, col_count) {}
  MatrixView(T* first, std::size_t row_count, std::size_t col_count, std::size_t row_stride)
      : data(first), rows(row_count), cols(col_count), stride(row_stride) {}

  [[nodiscard]] T* Row(std::size_t row) const {
    STOKER_DCHECK(row < rows);
    return data + row * stride;
  }
  [[nodiscard]] std::span<T> RowSpan(std::size_t row) const { return {Row(row), cols}; }

  /// Columns [first, first + count) of every row.
  [[nodiscard]] MatrixView Columns(std::size_t first, std::size_t count) const {
    STOKER_DCHECK(first + count <= cols);
    return {data + first, rows, count, stride};
  }
  /// Rows [first, first + count).
  [[nodiscard]] MatrixView Rows(std::size_t first, std::size_t count) const {
    STOKER_DCHECK(first + count <= rows);
    return {data + first * stride, count, cols, stride};
  }

  // NOLINTNEXTLINE(google-explicit-constructor): a view may always be narrowed to a const view.
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }
};

/// Bytes of a tensor as a checkpoint stores them: row-major, dense. Does not own its memory.
struct TensorView {
  DType dtype = DType::kF32;
  std::span<const std::size_t> shape;
  std::span<const std::byte> data;
};

}  // namespace stoker::tensor
