// Measures how fast this machine reads memory: the limit that decode speed is compared with.
// Built by machine.py when a benchmark runs; not part of Stoker.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kMaxThreads = 256, kLanes = 8, kHugePageBytes = 2 << 20 };

// 64 bytes: one AVX-512 register or one cache line; unaligned types are not needed.
typedef uint64_t Vector __attribute__((vector_size(64)));

// Threads take these pieces in turn, so that one which is held up does not hold up the pass.
typedef struct {
  const char* data;
  size_t pieces;
  atomic_size_t next;
  pthread_barrier_t start;
} Work;

typedef struct {
  Work* work;
  int cpu;
  double begin_s;
  double end_s;
  uint64_t sum;
} Reader;

static double NowS(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Two streams keep more cache misses in flight than one.
static void AddUp(const Vector* low, Vector* sums) {
  const size_t half = kHugePageBytes / sizeof(Vector) / 2;
  const Vector* high = low + half;
  for (size_t i = 0; i < half; i += kLanes / 2) {
    for (size_t lane = 0; lane < kLanes / 2; ++lane) {
      sums[lane] += low[i + lane];
      sums[kLanes / 2 + lane] += high[i + lane];
    }
  }
}

static void* Read(void* argument) {
  Reader* reader = argument;
  Work* work = reader->work;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)reader->cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);  // a hint: failing is harmless
  Vector sums[kLanes];
  memset(sums, 0, sizeof sums);
  pthread_barrier_wait(&work->start);
  reader->begin_s = NowS();
  for (size_t piece; (piece = atomic_fetch_add(&work->next, 1)) < work->pieces;) {
    AddUp((const Vector*)(work->data + piece * kHugePageBytes), sums);
  }
  reader->end_s = NowS();
  for (size_t lane = 0; lane < kLanes; ++lane) {
    for (size_t word = 0; word < sizeof(Vector) / sizeof(uint64_t); ++word) {
      reader->sum += sums[lane][word];
    }
  }
  return NULL;
}

/// Huge-page memory to read, larger than the last-level cache. NULL when there is none.
void* stoker_bandwidth_open(size_t bytes) {
  const size_t total = bytes / kHugePageBytes * kHugePageBytes;
  char* map = mmap(NULL, total + kHugePageBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return NULL;
  char* data = map + (kHugePageBytes - (uintptr_t)map % kHugePageBytes) % kHugePageBytes;
  madvise(data, total, MADV_HUGEPAGE);
  memset(data, 1, total);
  return data;
}

/// GB/s of one pass over the `bytes` at `data` by `threads` threads, one on each of `cpus`.
/// Returns -1 when the threads cannot be started or their number makes no sense.
double stoker_bandwidth_read(const void* data, size_t bytes, int threads, const int* cpus) {
  if (threads < 1 || threads > kMaxThreads) return -1;
  pthread_t ids[kMaxThreads];
  Reader readers[kMaxThreads];
  Work work = {.data = data, .pieces = bytes / kHugePageBytes};
  pthread_barrier_init(&work.start, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    readers[i] = (Reader){.work = &work, .cpu = cpus[i]};
    if (pthread_create(&ids[i], NULL, Read, &readers[i]) != 0) return -1;
  }
  double begin_s = 0;
  double end_s = 0;
  volatile uint64_t sink = 0;  // keeps the loads alive
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    if (i == 0 || readers[i].begin_s < begin_s) begin_s = readers[i].begin_s;
    if (i == 0 || readers[i].end_s > end_s) end_s = readers[i].end_s;
    sink += readers[i].sum;
  }
  pthread_barrier_destroy(&work.start);
  return 1e-9 * (double)(work.pieces * kHugePageBytes) / (end_s - begin_s);
}

/// Frees what stoker_bandwidth_open gave. The rest of the last huge page goes with the process.
void stoker_bandwidth_close(void* data, size_t bytes) {
  munmap(data, bytes / kHugePageBytes * kHugePageBytes);
}
