#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/linear.h"

namespace stoker::kernels {

/// A SwiGLU block: y = down(silu(gate x) * up x). gate, up [width, hidden]; down [hidden, width].
/// A routed expert, a shared expert and a dense layer all are one.
struct MlpWeights {
  PackedMatrix gate;
  PackedMatrix up;
  PackedMatrix down;

  [[nodiscard]] std::size_t bytes() const { return gate.bytes() + up.bytes() + down.bytes(); }
};

/// One block applied to some rows of a shared input.
struct MlpJob {
  const MlpWeights* weights = nullptr;
  /// Rows of the input that this block sees.
  std::span<const std::int32_t> input_rows;
  /// Output row of each; the same length.
  std::span<const std::int32_t> output_rows;
};

/// Buffers of GroupedMlp, kept between steps.
class MlpWorkspace {
 public:
  struct Buffers;

  MlpWorkspace();
  ~MlpWorkspace();
  [[nodiscard]] Buffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<Buffers> buffers_;
};

/// Applies several blocks: output[job.output_rows[i]] = MLP_job(input[job.input_rows[i]]).
/// Blocks may differ in format and width; output rows must not repeat. Each block's weights are
/// read once, whatever the number of its rows, and each output row is bit-identical in any company
/// (see Linear). The input's `quantized` must be set where a gate or up is INT4 and the table
/// quantises.
void GroupedMlp(const Context& context, const Activations& input, std::span<const MlpJob> jobs,
                MlpWorkspace& workspace, tensor::MatrixView<float> output);

/// y[token] += sum over slots of weight[token, slot] * expert_out[token * slots + slot], slots in
/// ascending order. weights: [tokens, slots]; expert_out: [tokens * slots, hidden]; y: [tokens,
/// hidden].
void CombineExperts(const Context& context, tensor::MatrixView<const float> expert_out,
                    tensor::MatrixView<const float> weights, tensor::MatrixView<float> y);

}  // namespace stoker::kernels
