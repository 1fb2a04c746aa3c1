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

bool Quantizes(const Context& context, const PackedMatrix& weight) {
  return weight.format == WeightFormat::kInt4Group32 && context.ops->quantizes_activations;
}

}  // namespace

struct MlpWorkspace::Buffers {
  PanelTasks gate_tasks;
  PanelTasks down_tasks;
  std::vector<std::size_t> inner_first;  // [jobs] where a job's inner activations [rows, width] lie
  std::vector<float> hidden;             // inner activations of jobs whose down takes float32
  std::vector<QuantizedGroup> groups;    // and of those whose down takes 8 bits, 32 to a group
  std::vector<float> scratch;            // [workers, rows, kScratchCols]
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

/// Cuts both passes into tasks.
void PlanTasks(const Context& context, std::span<const MlpJob> jobs, Buffers& buffers) {
  const std::vector<int>& workers = context.pool->workers_per_node();
  buffers.gate_tasks.Assign(workers, jobs.size(), [&](std::size_t j) {
    const PackedMatrix& gate = jobs[j].weights->gate;
    const std::size_t rows = jobs[j].input_rows.size();
    // A unit reads two panels of gate and two of up.
    return PanelTasks::Cut{
        .units = rows == 0 ? 0 : DivCeil(gate.rows, kUnitRows),
        .step = std::max<std::size_t>(1, PanelsPerTask(gate, rows) / (2 * kUnitPanels))};
  });
  buffers.down_tasks.Assign(workers, jobs.size(), [&](std::size_t j) {
    const PackedMatrix& down = jobs[j].weights->down;
    const std::size_t rows = jobs[j].input_rows.size();
    return PanelTasks::Cut{.units = rows == 0 ? 0 : down.panels(),
                           .step = PanelsPerTask(down, rows)};
  });
}

/// Plans tasks, lays out inner activations, and sizes the buffers.
void Plan(const Context& context, const Activations& input, std::span<const MlpJob> jobs,
          std::size_t output_cols, Buffers& buffers) {
  buffers.inner_first.clear();
  std::size_t elements = 0;
  std::size_t most_rows = 0;
  bool floats = false;
  bool bytes = false;
  for (const MlpJob& job : jobs) {
    CheckJob(context, input, job, output_cols);
    const MlpWeights& weights = *job.weights;
    const std::size_t rows = job.input_rows.size();
    buffers.inner_first.push_back(elements);
    elements += DivCeil(rows * weights.gate.rows, kUnitRows) * kUnitRows;
    most_rows = std::max(most_rows, rows);
    (Quantizes(context, weights.down) ? bytes : floats) = true;
  }
  PlanTasks(context, jobs, buffers);
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
             std::size_t inner_first, std::size_t unit, Buffers& buffers, float* scratch) {
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
    const std::size_t at = inner_first + token * width + first_row;
    context.ops->swiglu(gate, gate + kUnitRows, rows,
                        quantizes ? gate : buffers.hidden.data() + at);
    if (quantizes) context.ops->quantize(gate, 1, buffers.groups.data() + at / kInt4Group);
  }
}

/// Panels [piece.first, piece.first + piece.count) of the job's down.
void RunDown(const Context& context, const MlpJob& job, const PanelTasks::Piece& piece,
             const Buffers& buffers, tensor::MatrixView<float> output) {
  const PackedMatrix& down = job.weights->down;
  const std::size_t first = piece.first;
  const std::size_t inner_first = buffers.inner_first[piece.job];
  ProductArgs args{.format = down.format,
                   .cols = down.cols,
                   .last_lanes = LanesOf(down, first + piece.count - 1),
                   .tokens = job.output_rows.size(),
                   .y = {output.data + first * kPanelRows, output.stride, job.output_rows.data()}};
  if (Quantizes(context, down)) {
    args.quantized = {buffers.groups.data() + inner_first / kInt4Group, down.cols / kInt4Group};
  } else {
    args.x = {buffers.hidden.data() + inner_first, down.cols};
  }
  const PanelList panels(down, first, piece.count);
  args.panels = panels.span();
  context.ops->product(args);
}

}  // namespace

void GroupedMlp(const Context& context, const Activations& input, std::span<const MlpJob> jobs,
                MlpWorkspace& workspace, tensor::MatrixView<float> output) {
  Buffers& buffers = workspace.buffers();
  Plan(context, input, jobs, output.cols, buffers);
  ForEachTask(context, buffers.gate_tasks, [&](const PanelTasks::Piece& piece, int worker) {
    float* scratch = buffers.scratch.data() +
                     static_cast<std::size_t>(worker) * buffers.scratch_rows * kScratchCols;
    for (std::size_t unit = piece.first; unit < piece.first + piece.count; ++unit) {
      RunUnit(context, input, jobs[piece.job], buffers.inner_first[piece.job], unit, buffers,
              scratch);
    }
  });
  ForEachTask(context, buffers.down_tasks, [&](const PanelTasks::Piece& piece, int /*worker*/) {
    RunDown(context, jobs[piece.job], piece, buffers, output);
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
