#include "kernels/elementwise.h"

#include "base/check.h"
#include "kernels/op_table.h"
#include "kernels/tasks.h"

namespace stoker::kernels {

void RmsNorm(const Context& context, tensor::MatrixView<const float> x,
             std::span<const float> weight, float eps, tensor::MatrixView<float> y) {
  STOKER_CHECK(x.rows == y.rows && x.cols == y.cols && weight.size() == x.cols);
  ForEachRow(context, x.rows, x.cols, [&](std::size_t row) {
    context.ops->rms_norm(x.Row(row), weight.data(), x.cols, eps, y.Row(row));
  });
}

void Add(const Context& context, tensor::MatrixView<const float> x, tensor::MatrixView<float> y) {
  STOKER_CHECK(x.rows == y.rows && x.cols == y.cols);
  ForEachRow(context, x.rows, x.cols,
             [&](std::size_t row) { context.ops->add(x.Row(row), x.cols, y.Row(row)); });
}

void Rope(const Context& context, const RopeArgs& args) {
  STOKER_CHECK(args.dim % 2 == 0 && args.positions.size() == args.x.rows);
  STOKER_CHECK(args.cos.cols == args.dim / 2 && args.sin.cols == args.dim / 2);
  ForEachRow(context, args.x.rows, args.heads * args.dim, [&](std::size_t row) {
    const auto position = static_cast<std::size_t>(args.positions[row]);
    for (std::size_t head = 0; head < args.heads; ++head) {
      context.ops->rope(args.x.Row(row) + head * args.head_stride, args.dim, args.cos.Row(position),
                        args.sin.Row(position));
    }
  });
}

}  // namespace stoker::kernels
