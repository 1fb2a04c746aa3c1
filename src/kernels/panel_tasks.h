#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "sys/thread_pool.h"

namespace stoker::kernels {

/// The tasks of one parallel pass over several weights, ordered by NUMA node.
///
/// Of each job's units (panels, or groups of them) a node owns the sys::NodeShare, whatever other
/// jobs run beside it; so the loader and every later pass agree on who touches a panel, and a
/// worker's own tasks read its own node's memory. Reusable: Assign keeps the capacity.
class PanelTasks {
 public:
  /// How one job is cut: `units` units, at most `step` of them (>= 1) to a task.
  struct Cut {
    std::size_t units = 0;
    std::size_t step = 1;
  };
  /// One task: units [first, first + count) of job `job`.
  struct Piece {
    std::uint32_t job = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  /// Cuts jobs [0, jobs), each as cut_of(job) says (called once for each node).
  void Assign(const std::vector<int>& workers_per_node, std::size_t jobs,
              absl::FunctionRef<Cut(std::size_t job)> cut_of);

  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] const Piece& operator[](std::size_t task) const { return pieces_[task]; }
  /// The tasks of each node, for ThreadPool::ParallelFor.
  [[nodiscard]] std::span<const sys::TaskRange> shares() const { return shares_; }

 private:
  absl::InlinedVector<Piece, 256> pieces_;
  absl::InlinedVector<sys::TaskRange, 8> shares_;  // by node
};

}  // namespace stoker::kernels
