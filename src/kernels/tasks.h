#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/math.h"
#include "kernels/context.h"
#include "kernels/linear.h"
#include "kernels/op_table.h"
#include "kernels/packed_matrix.h"
#include "kernels/panel_tasks.h"

/// How the drivers cut work into tasks. Cutting never changes a result.
namespace stoker::kernels {

/// Most panels of one task.
inline constexpr std::size_t kMaxTaskPanels = 32;

/// Panels that one task multiplies: enough bytes that taking a task costs nothing beside reading
/// them, few enough that a layer's work divides evenly. A multiple of 4, the panels that kernels
/// stream side by side.
inline std::size_t PanelsPerTask(const PackedMatrix& weight, std::size_t tokens) {
  constexpr std::size_t kTaskBytes = std::size_t{128} << 10;
  constexpr std::size_t kStreams = 4;
  // Many tokens: time goes with tokens, so that the fewest panels do.
  if (tokens > 64 && weight.panel_bytes() >= kTaskBytes / 16) return kStreams;
  const std::size_t panels = kTaskBytes / std::max<std::size_t>(weight.panel_bytes(), 1);
  return std::clamp(panels / kStreams * kStreams, kStreams, kMaxTaskPanels);
}

/// Output rows that panel `panel` really has.
inline std::size_t LanesOf(const PackedMatrix& weight, std::size_t panel) {
  return std::min(kPanelRows, weight.rows - panel * kPanelRows);
}

/// Pointers to up to kMaxTaskPanels panels.
class PanelList {
 public:
  PanelList() = default;
  PanelList(const PackedMatrix& weight, std::size_t first, std::size_t count) {
    Append(weight, first, count);
  }
  void Append(const PackedMatrix& weight, std::size_t first, std::size_t count) {
    STOKER_DCHECK(count_ + count <= kMaxTaskPanels && first + count <= weight.panels());
    const std::size_t bytes = weight.panel_bytes();
    for (std::size_t i = 0; i < count; ++i) {
      panels_[count_++] = weight.data + (first + i) * bytes;
    }
  }
  [[nodiscard]] std::span<const std::byte* const> span() const { return {panels_.data(), count_}; }

 private:
  std::array<const std::byte*, kMaxTaskPanels> panels_{};
  std::size_t count_ = 0;
};

inline RowSet<const QuantizedGroup> RowsOf(const QuantizedRows* rows, const std::int32_t* index) {
  if (rows == nullptr) return {};
  return {rows->row(0), rows->cols() / tensor::kInt4Group, index};
}

/// Runs the tasks on the pool; a single one on the calling thread.
template <typename Fn>
void ForEachTask(const Context& context, std::size_t tasks, const Fn& fn) {
  if (tasks == 1) {
    fn(std::size_t{0}, 0);
  } else if (tasks > 1) {
    context.pool->ParallelFor(tasks, fn);
  }
}

/// Runs fn(piece, worker) for every piece, each node's own first.
template <typename Fn>
void ForEachTask(const Context& context, const PanelTasks& tasks, const Fn& fn) {
  if (tasks.size() == 1) {
    fn(tasks[0], 0);
  } else if (tasks.size() > 1) {
    context.pool->ParallelFor(tasks.shares(),
                              [&](std::size_t task, int worker) { fn(tasks[task], worker); });
  }
}

/// Runs fn(row) for every row, several to a task: a few rows are quicker done at once than shared.
template <typename Fn>
void ForEachRow(const Context& context, std::size_t rows, std::size_t row_elements, const Fn& fn) {
  constexpr std::size_t kTaskElements = 32768;
  const std::size_t step =
      std::max<std::size_t>(1, kTaskElements / std::max<std::size_t>(row_elements, 1));
  ForEachTask(context, DivCeil(rows, step), [&](std::size_t task, int /*worker*/) {
    const std::size_t end = std::min(rows, (task + 1) * step);
    for (std::size_t row = task * step; row < end; ++row) fn(row);
  });
}

}  // namespace stoker::kernels
