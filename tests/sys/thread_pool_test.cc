#include "sys/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace stoker::sys {
namespace {

Topology Machine(const char* description) {
  auto topology = SyntheticTopology(description);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *topology;
}

TEST(ThreadPool, EveryTaskRunsExactlyOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(Machine("node:2 core:4 pu:1"), {.threads = threads, .pin = false});
    for (const std::size_t tasks : {0U, 1U, 2U, 5U, 1000U}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.ParallelFor(tasks, [&](std::size_t task, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        runs[task].fetch_add(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortJobsInARow) {
  ThreadPool pool(Machine("node:1 core:2 pu:1"), {.threads = 2, .pin = false});
  std::atomic<std::size_t> sum{0};
  for (int job = 0; job < 20000; ++job) {
    pool.ParallelFor(3, [&](std::size_t task, int) { sum.fetch_add(task + 1); });
  }
  EXPECT_EQ(sum.load(), 20000U * 6U);
}

TEST(ThreadPool, WorkersSpreadOverNodes) {
  ThreadPool pool(Machine("node:2 core:4 pu:2"), {.threads = 4, .pin = false});
  EXPECT_EQ(pool.workers_per_node(), (std::vector<int>{2, 2}));
  ThreadPool whole(Machine("node:2 core:4 pu:2"), {.threads = 0, .pin = false});
  EXPECT_EQ(whole.size(), 8) << "one worker a physical core, not a hardware thread";
}

TEST(ThreadPool, WorkersTakeTheirOwnNodesTasksFirst) {
  ThreadPool pool(Machine("node:2 core:1 pu:1"), {.threads = 2, .pin = false});
  for (const std::size_t border : {1U, 50U, 99U}) {
    const std::vector<TaskRange> shares = {{0, border}, {border, 100}};
    std::array<std::atomic<int>, 100> runs{};
    std::array<std::atomic<int>, 2> first_task{-1, -1};
    pool.ParallelFor(shares, [&](std::size_t task, int worker) {
      runs[task].fetch_add(1);
      int none = -1;
      first_task[static_cast<std::size_t>(worker)].compare_exchange_strong(none,
                                                                           static_cast<int>(task));
      // Until both have begun, so that neither can help the other before its own first task.
      while (first_task[0] < 0 || first_task[1] < 0) std::this_thread::yield();
    });
    EXPECT_EQ(first_task[0], 0);
    EXPECT_EQ(first_task[1], static_cast<int>(border));
    for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
  }
}

TEST(ThreadPool, WithoutHelpEveryTaskRunsOnItsOwnNode) {
  const auto topology = SyntheticTopology("node:2 core:2 pu:1");
  ASSERT_TRUE(topology.ok());
  ThreadPool pool(*topology, {.threads = 4, .pin = false});
  // All the work lies on one node; workers 0 and 2 are the first node's.
  const std::vector<TaskRange> shares = {{0, 40}, {40, 42}};
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> ran_on(42, -1);
    pool.ParallelFor(
        shares,
        [&](std::size_t task, int worker) {
          std::this_thread::sleep_for(std::chrono::microseconds(20));
          ran_on[task] = worker % 2;
        },
        ThreadPool::Help::kNo);
    for (std::size_t task = 0; task < ran_on.size(); ++task) {
      ASSERT_EQ(ran_on[task], task < 40 ? 0 : 1) << "task " << task;
    }
  }
}

TEST(ThreadPool, LeavesItsCallerWhereItFoundIt) {
  const auto topology = DetectTopology();
  ASSERT_TRUE(topology.ok());
  cpu_set_t before;
  cpu_set_t during;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  {
    const ThreadPool pool(*topology, {.threads = 1});
    ASSERT_EQ(sched_getaffinity(0, sizeof(during), &during), 0);
    EXPECT_EQ(CPU_COUNT(&during), 1);
    EXPECT_EQ(DetectTopology()->cores.size(), topology->cores.size());
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(ThreadPool, WorkersOfALaterPoolHaveCoresOfTheirOwn) {
  const auto topology = DetectTopology();
  ASSERT_TRUE(topology.ok());
  if (topology->cores.size() < 2) GTEST_SKIP() << "one core only";
  { const ThreadPool first(*topology, {}); }
  ThreadPool pool(*topology, {.threads = 2});
  std::atomic<int> arrived{0};
  std::array<cpu_set_t, 2> masks = {};
  pool.ParallelFor(2, [&](std::size_t /*task*/, int worker) {
    sched_getaffinity(0, sizeof(cpu_set_t), &masks[static_cast<std::size_t>(worker)]);
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();  // each worker takes one task
  });
  EXPECT_EQ(CPU_COUNT(&masks[0]), 1);
  EXPECT_EQ(CPU_COUNT(&masks[1]), 1);
  EXPECT_FALSE(CPU_EQUAL(&masks[0], &masks[1]));
}

TEST(ThreadPool, ASystemWithoutThreadsIsAnError) {
  pthread_attr_t before;
  pthread_attr_t greedy;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&greedy), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&greedy, std::size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&greedy), 0);
  const auto pool = ThreadPool::Create(Machine("node:1 core:2 pu:1"), {.threads = 2, .pin = false});
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kResourceExhausted) << pool.status();
  EXPECT_EQ(
      (*ThreadPool::Create(Machine("node:1 core:2 pu:1"), {.threads = 2, .pin = false}))->size(),
      2);
}

TEST(NodeShare, CoversEveryTaskOnceInProportion) {
  const std::vector<int> workers = {1, 3, 0, 2};
  for (const std::size_t tasks : {0U, 1U, 5U, 64U, 1001U}) {
    std::size_t next = 0;
    for (std::size_t node = 0; node < workers.size(); ++node) {
      const TaskRange range = NodeShare(tasks, workers, node);
      EXPECT_EQ(range.begin, next);
      EXPECT_LE(range.begin, range.end);
      next = range.end;
    }
    EXPECT_EQ(next, tasks);
  }
  EXPECT_EQ(NodeShare(60, workers, 1), (TaskRange{10, 40}));
  EXPECT_EQ(NodeShare(60, workers, 2).size(), 0U);
}

TEST(Topology, ReadsThisMachine) {
  const auto topology = DetectTopology();
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_FALSE(topology->cores.empty());
  EXPECT_GE(topology->nodes, 1);
}

TEST(Topology, NonsenseIsRefused) {
  EXPECT_FALSE(SyntheticTopology("three cows").ok());
}

}  // namespace
}  // namespace stoker::sys
