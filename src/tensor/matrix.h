#pragma once

#include <cstddef>
#include <vector>

#include "tensor/view.h"

namespace stoker::tensor {

/// A matrix that owns its memory and keeps it when it shrinks, so that a workspace reaches its size
/// once and then allocates no more.
template <typename T>
class Matrix {
 public:
  /// The matrix as [rows, cols]; contents are unspecified.
  MatrixView<T> Resize(std::size_t rows, std::size_t cols) {
    if (values_.size() < rows * cols) values_.resize(rows * cols);
    rows_ = rows;
    cols_ = cols;
    return view();
  }

  [[nodiscard]] MatrixView<T> view() { return {values_.data(), rows_, cols_}; }
  [[nodiscard]] MatrixView<const T> view() const { return {values_.data(), rows_, cols_}; }

 private:
  std::vector<T> values_;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

}  // namespace stoker::tensor
