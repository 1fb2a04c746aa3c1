#include "kernels/linear.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/op_table.h"
#include "kernels/tasks.h"

namespace stoker::kernels {
namespace {

using tensor::WeightFormat;

/// Rows quantised by one task.
constexpr std::size_t kQuantizeRows = 4;

void CheckJob(const Context& context, const LinearJob& job) {
  STOKER_CHECK(job.x.x.cols == job.weight.cols && job.y.cols == job.weight.rows);
  STOKER_CHECK(job.x.x.rows == job.y.rows);
  if (job.weight.format == WeightFormat::kInt4Group32 && context.ops->quantizes_activations) {
    STOKER_CHECK(job.x.quantized != nullptr && job.x.quantized->cols() == job.weight.cols &&
                 job.x.quantized->rows() == job.y.rows);
  }
}

void RunPanels(const OpTable& ops, const LinearJob& job, std::size_t first, std::size_t count) {
  ProductArgs args{.format = job.weight.format,
                   .exact = job.exact,
                   .cols = job.weight.cols,
                   .tokens = job.y.rows,
                   .x = {job.x.x.data, job.x.x.stride},
                   .quantized = RowsOf(job.x.quantized, nullptr),
                   .y = {job.y.data + first * kPanelRows, job.y.stride}};
  const PanelList panels(job.weight, first, count);
  args.panels = panels.span();
  args.last_lanes = LanesOf(job.weight, first + count - 1);
  ops.product(args);
}

}  // namespace

void QuantizedRows::Assign(const Context& context, tensor::MatrixView<const float> x) {
  STOKER_CHECK(x.cols % tensor::kInt4Group == 0);
  rows_ = x.rows;
  cols_ = x.cols;
  const std::size_t groups = cols_ / tensor::kInt4Group;
  // The buffer only grows, so that steps of changing size do not allocate.
  groups_.resize(std::max(groups_.size(), rows_ * groups));
  const auto quantize = [&](std::size_t task, int /*worker*/) {
    const std::size_t end = std::min(rows_, (task + 1) * kQuantizeRows);
    for (std::size_t row = task * kQuantizeRows; row < end; ++row) {
      context.ops->quantize(x.Row(row), groups, groups_.data() + row * groups);
    }
  };
  ForEachTask(context, DivCeil(rows_, kQuantizeRows), quantize);
}

void Linear(const Context& context, std::span<const LinearJob> jobs) {
  for (const LinearJob& job : jobs) CheckJob(context, job);
  PanelTasks tasks;
  tasks.Assign(context.pool->workers_per_node(), jobs.size(), [&](std::size_t j) {
    const LinearJob& job = jobs[j];
    return PanelTasks::Cut{.units = job.y.rows == 0 ? 0 : job.weight.panels(),
                           .step = PanelsPerTask(job.weight, job.y.rows)};
  });
  ForEachTask(context, tasks, [&](const PanelTasks::Piece& piece, int /*worker*/) {
    RunPanels(*context.ops, jobs[piece.job], piece.first, piece.count);
  });
}

}  // namespace stoker::kernels
