#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "sys/topology.h"

namespace stoker::sys {

/// Half-open range of task indices.
struct TaskRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t size() const { return end - begin; }
  friend bool operator==(const TaskRange&, const TaskRange&) = default;
};

/// The tasks that NUMA node `node` owns when `tasks` tasks are shared among nodes in proportion to
/// `workers_per_node`. Contiguous, in node order, covering [0, tasks) exactly. Pure: the loader
/// uses it to place a weight's panels in the memory of the node that will read them.
TaskRange NodeShare(std::size_t tasks, const std::vector<int>& workers_per_node, std::size_t node);

/// Workers pinned one per physical core, spread over NUMA nodes as the topology says. The caller's
/// thread is worker 0. Workers spin briefly between jobs, then sleep.
///
/// One job at a time: ParallelFor must not be called from two threads at once, nor from inside a
/// task.
class ThreadPool {
 public:
  struct Options {
    int threads = 0;  ///< 0: one per physical core
    bool pin = true;  ///< bind each worker to its core, and the caller until the pool's end
  };

  /// Errors: kResourceExhausted where the system has no more threads; those begun have ended then.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(const Topology& topology,
                                                            Options options);

  /// As Create, for callers that cannot do without: throws std::system_error.
  ThreadPool(const Topology& topology, Options options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const;
  /// Workers on each NUMA node, by node index.
  [[nodiscard]] const std::vector<int>& workers_per_node() const;

  /// Calls fn(task, worker) once for every task in [0, tasks), from the workers in parallel, and
  /// returns when all have returned. Each node's workers first take the tasks of NodeShare in
  /// ascending order, then help the other nodes. Which worker runs a task may differ from run to
  /// run: results must not depend on it.
  void ParallelFor(std::size_t tasks, absl::FunctionRef<void(std::size_t task, int worker)> fn);

  /// Whether workers who are done with their own node's tasks take those of others.
  enum class Help : bool { kNo, kYes };

  /// The same for tasks that the caller has given to nodes: node i's workers first take shares[i].
  /// The shares follow one another from task 0, one for each of workers_per_node(). With Help::kNo
  /// each task runs on its own node, which then owns the memory that the task is first to write.
  void ParallelFor(std::span<const TaskRange> shares,
                   absl::FunctionRef<void(std::size_t task, int worker)> fn,
                   Help help = Help::kYes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker::sys
