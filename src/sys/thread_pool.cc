#include "sys/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <numeric>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/status.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker::sys {
namespace {

// About 50 microseconds of polling: longer than the gap between two ops of a decode step, far
// shorter than the gap between two requests.
constexpr int kSpins = 4000;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Fails silently where the system forbids it: a hint, not a need.
void PinCurrentThread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// Cores in the order in which workers take them: round-robin over nodes, so that a pool smaller
// than the machine still uses every node's memory.
std::vector<Topology::Core> SpreadOverNodes(const Topology& topology) {
  std::vector<std::vector<Topology::Core>> by_node(static_cast<std::size_t>(topology.nodes));
  for (const Topology::Core& core : topology.cores) {
    by_node[static_cast<std::size_t>(core.node)].push_back(core);
  }
  std::vector<Topology::Core> order;
  for (std::size_t rank = 0; order.size() < topology.cores.size(); ++rank) {
    for (const auto& cores : by_node) {
      if (rank < cores.size()) order.push_back(cores[rank]);
    }
  }
  return order;
}

}  // namespace

TaskRange NodeShare(std::size_t tasks, const std::vector<int>& workers_per_node, std::size_t node) {
  const auto total = static_cast<std::size_t>(
      std::accumulate(workers_per_node.begin(), workers_per_node.end(), 0));
  const auto before = static_cast<std::size_t>(std::accumulate(
      workers_per_node.begin(), workers_per_node.begin() + static_cast<std::ptrdiff_t>(node), 0));
  const auto own = static_cast<std::size_t>(workers_per_node[node]);
  return {tasks * before / total, tasks * (before + own) / total};
}

struct ThreadPool::State {
  // One node's share of the running job. Its own cache line: workers hammer `next`.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  std::vector<int> worker_node;
  std::vector<int> workers_per_node;
  std::vector<Share> shares;           // by node
  std::vector<TaskRange> even_shares;  // by node; scratch of the ParallelFor that divides evenly
  const absl::FunctionRef<void(std::size_t, int)>* job = nullptr;
  Help help = Help::kYes;
  alignas(64) std::atomic<std::uint32_t> generation{0};  // a new value starts a job
  alignas(64) std::atomic<int> running{0};               // helpers still inside the job
  std::atomic<bool> stop{false};
  std::vector<std::thread> helpers;
  // Set where the caller was pinned: its thread, and where it might run before.
  pid_t pinned_caller = 0;
  cpu_set_t callers_cpus = {};

  void PinCaller(int cpu) {
    if (sched_getaffinity(0, sizeof(callers_cpus), &callers_cpus) == 0) pinned_caller = gettid();
    PinCurrentThread(cpu);
  }

  void UnpinCaller() const {
    if (pinned_caller != 0) sched_setaffinity(pinned_caller, sizeof(callers_cpus), &callers_cpus);
  }

  // Helpers inherit the mask: signals are for the program's own threads, which may wait for them.
  void StartHelpers(int threads, const std::vector<Topology::Core>& pinned_to) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::exception_ptr failure;
    try {
      for (int worker = 1; worker < threads; ++worker) {
        const int cpu = pinned_to.empty() ? -1 : pinned_to[static_cast<std::size_t>(worker)].cpu;
        helpers.emplace_back([this, worker, cpu] { HelperLoop(worker, cpu); });
      }
    } catch (const std::system_error&) {
      failure = std::current_exception();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure == nullptr) return;
    StopHelpers();
    std::rethrow_exception(failure);
  }

  void StopHelpers() {
    stop.store(true, std::memory_order_release);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
    for (std::thread& helper : helpers) helper.join();
    helpers.clear();
  }

  void RunTasks(int worker) {
    const auto nodes = shares.size();
    const auto home = static_cast<std::size_t>(worker_node[static_cast<std::size_t>(worker)]);
    const std::size_t visited = help == Help::kYes ? nodes : 1;
    for (std::size_t step = 0; step < visited; ++step) {
      Share& share = shares[(home + step) % nodes];
      for (;;) {
        const std::size_t task = share.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= share.end) break;
        (*job)(task, worker);
      }
    }
  }

  void HelperLoop(int worker, int cpu) {
    if (cpu >= 0) PinCurrentThread(cpu);
    std::uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins; ++spin) {
        if (generation.load(std::memory_order_acquire) != seen) break;
        Pause();
      }
      generation.wait(seen, std::memory_order_acquire);
      seen = generation.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      RunTasks(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void WaitForHelpers() {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (running.load(std::memory_order_acquire) == 0) return;
      Pause();
    }
    for (int left = running.load(std::memory_order_acquire); left != 0;
         left = running.load(std::memory_order_acquire)) {
      running.wait(left, std::memory_order_acquire);
    }
  }
};

ThreadPool::ThreadPool(const Topology& topology, Options options)
    : state_(std::make_unique<State>()) {
  STOKER_CHECK(!topology.cores.empty());
  const std::vector<Topology::Core> order = SpreadOverNodes(topology);
  const int threads =
      options.threads > 0 ? options.threads : static_cast<int>(topology.cores.size());
  state_->workers_per_node.assign(static_cast<std::size_t>(topology.nodes), 0);
  state_->shares = std::vector<State::Share>(static_cast<std::size_t>(topology.nodes));
  state_->even_shares.resize(static_cast<std::size_t>(topology.nodes));
  for (int worker = 0; worker < threads; ++worker) {
    const int node = order[static_cast<std::size_t>(worker) % order.size()].node;
    state_->worker_node.push_back(node);
    ++state_->workers_per_node[static_cast<std::size_t>(node)];
  }
  // More workers than cores cannot each have one: leave placement to the scheduler.
  const bool pin = options.pin && static_cast<std::size_t>(threads) <= order.size();
  state_->StartHelpers(threads, pin ? order : std::vector<Topology::Core>());
  if (pin) state_->PinCaller(order[0].cpu);
}

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const Topology& topology,
                                                               Options options) {
  try {
    return std::make_unique<ThreadPool>(topology, options);
  } catch (const std::system_error& error) {
    return ResourceExhausted("cannot start the threads: {}; use fewer --threads",
                             error.code().message());
  }
}

ThreadPool::~ThreadPool() {
  state_->StopHelpers();
  state_->UnpinCaller();
}

int ThreadPool::size() const {
  return static_cast<int>(state_->worker_node.size());
}

const std::vector<int>& ThreadPool::workers_per_node() const {
  return state_->workers_per_node;
}

void ThreadPool::ParallelFor(std::size_t tasks,
                             absl::FunctionRef<void(std::size_t task, int worker)> fn) {
  for (std::size_t node = 0; node < state_->even_shares.size(); ++node) {
    state_->even_shares[node] = NodeShare(tasks, state_->workers_per_node, node);
  }
  ParallelFor(state_->even_shares, fn);
}

void ThreadPool::ParallelFor(std::span<const TaskRange> shares,
                             absl::FunctionRef<void(std::size_t task, int worker)> fn, Help help) {
  STOKER_CHECK(shares.size() == state_->shares.size());
  const std::size_t tasks = shares.back().end;
  if (tasks <= 1 || state_->helpers.empty()) {
    for (std::size_t task = 0; task < tasks; ++task) fn(task, 0);
    return;
  }
  for (std::size_t node = 0; node < shares.size(); ++node) {
    state_->shares[node].next.store(shares[node].begin, std::memory_order_relaxed);
    state_->shares[node].end = shares[node].end;
  }
  state_->job = &fn;
  state_->help = help;
  state_->running.store(static_cast<int>(state_->helpers.size()), std::memory_order_relaxed);
  state_->generation.fetch_add(1, std::memory_order_release);
  state_->generation.notify_all();
  state_->RunTasks(0);
  state_->WaitForHelpers();
  state_->job = nullptr;
}

}  // namespace stoker::sys
