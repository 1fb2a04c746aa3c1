#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/context.h"
#include "tensor/view.h"

namespace stoker::kernels {

/// y = x / sqrt(mean(x^2) + eps) * weight, a row at a time. x and y [tokens, cols] may be the same
/// memory; weight [cols]. The mean's order of summation is fixed.
void RmsNorm(const Context& context, tensor::MatrixView<const float> x,
             std::span<const float> weight, float eps, tensor::MatrixView<float> y);

/// y += x, both [tokens, cols].
void Add(const Context& context, tensor::MatrixView<const float> x, tensor::MatrixView<float> y);

/// Rotates adjacent pairs (2i, 2i + 1) in place: for a row at position p, by the angle whose cosine
/// and sine are cos[p, i], sin[p, i] (GPT-J style, as DeepSeek-V3's checkpoints are laid out).
/// Head h of a token is the `dim` elements of its row of x from h * head_stride on.
struct RopeArgs {
  tensor::MatrixView<float> x;
  std::size_t heads = 1;
  std::size_t head_stride = 0;              ///< elements from one head's slice to the next
  std::size_t dim = 0;                      ///< even; elements rotated per head
  std::span<const std::int32_t> positions;  ///< [tokens]
  tensor::MatrixView<const float> cos;      ///< [positions, dim / 2]
  tensor::MatrixView<const float> sin;
};
void Rope(const Context& context, const RopeArgs& args);

}  // namespace stoker::kernels
