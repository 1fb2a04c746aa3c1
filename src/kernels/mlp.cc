#include "kernels/mlp.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/op_table.h"
#include "kernels/tasks.h"

namespace stoker::kernels {
namespace {

using tensor::kInt4Group;
using tensor::WeightFormat;

/// Rows of gate and up that one unit of work covers: one group of the quantised result.
constexpr std::size_t kUnitRows = kInt4Group;
constexpr std::size_t kUnitPanels = kUnitRows / kPanelRows;
/// One worker's scratch row: a unit of gate, then a unit of up.
constexpr std::size_t kScratchCols = 2 * kUnitRows;

/// Where a job's inner activations [rows, width] lie in the workspace.
struct Inner {
  std::size_t first = 0;  ///< element offset
  std::size_t units_per_task = 1;
  std::size_t down_panels_per_task = 1;
};

bool Quantizes(const Context& context, const PackedMatrix& weight) {
  return weight.format == WeightFormat::kInt4Group32 && context.ops->quantizes_activations;
}

}  // namespace

struct MlpWorkspace::Buffers {
  std::vector<Inner> inner;              // [jobs]
  std::vector<std::size_t> gate_starts;  // [jobs + 1] first task of each job
  std::vector<std::size_t> down_starts;
  std::vector<float> hidden;           // inner activations of jobs whose down takes float32
  std::vector<QuantizedGroup> groups;  // and of those whose down takes 8 bits, 32 to a group
  std::vector<float> scratch;          // [workers, rows, kScratchCols]
  std::size_t scratch_rows = 0;
};

MlpWorkspace::MlpWorkspace() : buffers_(std::make_unique<Buffers>()) {}
MlpWorkspace::~MlpWorkspace() = default;

namespace {

using Buffers = MlpWorkspace::Buffers;

template <typename T>
void Grow(std::vector<T>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

void CheckJob(const Context& context, const Activations& input, const MlpJob& job,
              std::size_t output_cols) {
  const MlpWeights& weights = *job.weights;
  STOKER_CHECK(job.input_rows.size() == job.output_rows.size());
  STOKER_CHECK(weights.gate.rows == weights.up.rows && weights.gate.rows == weights.down.cols);
  STOKER_CHECK(weights.gate.cols == input.x.cols && weights.up.cols == input.x.cols);
  STOKER_CHECK(weights.down.rows == output_cols);
  if (Quantizes(context, weights.gate) || Quantizes(context, weights.up)) {
    STOKER_CHECK(input.quantized != nullptr && input.quantized->cols() == input.x.cols &&
                 input.quantized->rows() == input.x.rows);
  }
}

/// Lays out tasks and inner activations, and sizes the buffers.
void Plan(const Context& context, const Activations& input, std::span<const MlpJob> jobs,
          std::size_t output_cols, Buffers& buffers) {
  buffers.inner.clear();
  buffers.gate_starts.assign(1, 0);
  buffers.down_starts.assign(1, 0);
  std::size_t elements = 0;
  std::size_t most_rows = 0;
  bool floats = false;
  bool bytes = false;
  for (const MlpJob& job : jobs) {
    CheckJob(context, input, job, output_cols);
    const MlpWeights& weights = *job.weights;
    const std::size_t rows = job.input_rows.size();
    // A unit reads two panels of gate and two of up.
    const std::size_t units_per_task =
        std::max<std::size_t>(1, PanelsPerTask(weights.gate, rows) / (2 * kUnitPanels));
    const std::size_t down_panels = PanelsPerTask(weights.down, rows);
    buffers.inner.push_back({elements, units_per_task, down_panels});
    const std::size_t units = DivCeil(weights.gate.rows, kUnitRows);
    buffers.gate_starts.push_back(buffers.gate_starts.back() +
                                  (rows == 0 ? 0 : DivCeil(units, units_per_task)));
    buffers.down_starts.push_back(buffers.down_starts.back() +
                                  (rows == 0 ? 0 : DivCeil(weights.down.panels(), down_panels)));
    elements += DivCeil(rows * weights.gate.rows, kUnitRows) * kUnitRows;
    most_rows = std::max(most_rows, rows);
    (Quantizes(context, weights.down) ? bytes : floats) = true;
  }
  if (floats) Grow(buffers.hidden, elements);
  if (bytes) Grow(buffers.groups, elements / kInt4Group);
  buffers.scratch_rows = most_rows;
  Grow(buffers.scratch, static_cast<std::size_t>(context.pool->size()) * most_rows * kScratchCols);
}

/// Multiplies the rows of `job` by `count` panels of gate and as many of up, starting at panel
/// `first` of each, into scratch columns [0, 32) and [32, 64).
void GateAndUp(const Context& context, const Activations& input, const MlpJob& job,
               std::size_t first, std::size_t count, float* scratch) {
  const MlpWeights& weights = *job.weights;
  ProductArgs args{.format = weights.gate.format,
                   .cols = weights.gate.cols,
                   .tokens = job.input_rows.size(),
                   .x = {input.x.data, input.x.stride, job.input_rows.data()},
                   .quantized = RowsOf(input.quantized, job.input_rows.data()),
                   .y = {scratch, kScratchCols}};
  PanelList panels(weights.gate, first, count);
  if (count == kUnitPanels && weights.up.format == weights.gate.format) {
    panels.Append(weights.up, first, count);
    args.panels = panels.span();
    context.ops->product(args);
    return;
  }
  args.panels = panels.span();
  context.ops->product(args);
  const PanelList up_panels(weights.up, first, count);
  args.format = weights.up.format;
  args.panels = up_panels.span();
  args.y.base = scratch + kUnitRows;
  context.ops->product(args);
}

/// One unit: rows [unit * 32, unit * 32 + 32) of the job's inner activations, for all its tokens.
void RunUnit(const Context& context, const Activations& input, const MlpJob& job,
             const Inner& inner, std::size_t unit, Buffers& buffers, float* scratch) {
  const MlpWeights& weights = *job.weights;
  const std::size_t width = weights.gate.rows;
  const std::size_t first_panel = unit * kUnitPanels;
  GateAndUp(context, input, job, first_panel,
            std::min(kUnitPanels, weights.gate.panels() - first_panel), scratch);
  const std::size_t first_row = unit * kUnitRows;
  const std::size_t rows = std::min(kUnitRows, width - first_row);
  const bool quantizes = Quantizes(context, weights.down);
  for (std::size_t token = 0; token < job.input_rows.size(); ++token) {
    float* gate = scratch + token * kScratchCols;
    const std::size_t at = inner.first + token * width + first_row;
    context.ops->swiglu(gate, gate + kUnitRows, rows,
                        quantizes ? gate : buffers.hidden.data() + at);
    if (quantizes) context.ops->quantize(gate, 1, buffers.groups.data() + at / kInt4Group);
  }
}

void RunDown(const Context& context, const MlpJob& job, const Inner& inner, std::size_t first,
             const Buffers& buffers, tensor::MatrixView<float> output) {
  const PackedMatrix& down = job.weights->down;
  const std::size_t count = std::min(inner.down_panels_per_task, down.panels() - first);
  ProductArgs args{.format = down.format,
                   .cols = down.cols,
                   .last_lanes = LanesOf(down, first + count - 1),
                   .tokens = job.output_rows.size(),
                   .y = {output.data + first * kPanelRows, output.stride, job.output_rows.data()}};
  if (Quantizes(context, down)) {
    args.quantized = {buffers.groups.data() + inner.first / kInt4Group, down.cols / kInt4Group};
  } else {
    args.x = {buffers.hidden.data() + inner.first, down.cols};
  }
  const PanelList panels(down, first, count);
  args.panels = panels.span();
  context.ops->product(args);
}

}  // namespace

void GroupedMlp(const Context& context, const Activations& input, std::span<const MlpJob> jobs,
                MlpWorkspace& workspace, tensor::MatrixView<float> output) {
  Buffers& buffers = workspace.buffers();
  Plan(context, input, jobs, output.cols, buffers);
  ForEachTask(context, buffers.gate_starts.back(), [&](std::size_t task, int worker) {
    const std::size_t j = OwnerOf(buffers.gate_starts, task);
    const Inner& inner = buffers.inner[j];
    float* scratch = buffers.scratch.data() +
                     static_cast<std::size_t>(worker) * buffers.scratch_rows * kScratchCols;
    const std::size_t units = DivCeil(jobs[j].weights->gate.rows, kUnitRows);
    const std::size_t first = (task - buffers.gate_starts[j]) * inner.units_per_task;
    const std::size_t end = std::min(units, first + inner.units_per_task);
    for (std::size_t unit = first; unit < end; ++unit) {
      RunUnit(context, input, jobs[j], inner, unit, buffers, scratch);
    }
  });
  ForEachTask(context, buffers.down_starts.back(), [&](std::size_t task, int /*worker*/) {
    const std::size_t j = OwnerOf(buffers.down_starts, task);
    const Inner& inner = buffers.inner[j];
    RunDown(context, jobs[j], inner, (task - buffers.down_starts[j]) * inner.down_panels_per_task,
            buffers, output);
  });
}

void CombineExperts(const Context& context, tensor::MatrixView<const float> expert_out,
                    tensor::MatrixView<const float> weights, tensor::MatrixView<float> y) {
  STOKER_CHECK(weights.rows == y.rows && expert_out.cols == y.cols &&
               expert_out.rows == weights.rows * weights.cols);
  ForEachRow(context, y.rows, expert_out.cols * weights.cols, [&](std::size_t token) {
    context.ops->add_scaled(expert_out.Row(token * weights.cols), expert_out.stride,
                            weights.RowSpan(token), y.cols, y.Row(token));
  });
}

}  // namespace stoker::kernels
