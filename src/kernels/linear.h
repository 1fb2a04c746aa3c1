#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/context.h"
#include "kernels/packed_matrix.h"
#include "tensor/view.h"

namespace stoker::kernels {

/// 32 activations rounded to 8 bits: x = scale * value.
struct QuantizedGroup {
  std::int8_t values[32];
  float scale;
  /// -8 times the sum of the values: corrects for weights stored as value + 8.
  std::int32_t offset;
};

/// Rows of activations rounded to 8 bits for INT4 weights: per group of 32 columns,
/// q = round(x / s) with s = max|x| / 127. A group with an infinite or NaN element gets a scale
/// that is not finite, so that it is not lost. Owns its buffer and keeps it between steps.
class QuantizedRows {
 public:
  /// Rounds `x` [rows, cols], cols a multiple of 32. Rows are independent of one another.
  void Assign(const Context& context, tensor::MatrixView<const float> x);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] const QuantizedGroup* row(std::size_t row) const {
    return groups_.data() + row * (cols_ / 32);
  }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<QuantizedGroup> groups_;  // [rows, cols / 32]
};

/// Activations as linear ops take them. `quantized` must be set, for the same rows, where a weight
/// is INT4 and the op table quantises; it is ignored otherwise.
struct Activations {
  tensor::MatrixView<const float> x;  // [tokens, cols]
  const QuantizedRows* quantized = nullptr;
};

/// One product y = x W^T: x [tokens, cols], W [rows, cols], y [tokens, rows].
struct LinearJob {
  Activations x;
  PackedMatrix weight;
  tensor::MatrixView<float> y;
  /// Keeps the activations float32 where the table would round them to meet BF16 weights.
  bool exact = false;
};

/// Runs several products as one parallel region (for example q_a and kv_a, or one product a head).
///
/// Each output element is a sum over columns in ascending order in one accumulator (INT4: per group
/// of 32 exactly in integers, groups in ascending order), whatever the number of tokens, threads or
/// jobs: a token's result is bit-identical in any company. Each weight is read once a call.
/// Called from one thread at a time per pool.
void Linear(const Context& context, std::span<const LinearJob> jobs);

}  // namespace stoker::kernels
