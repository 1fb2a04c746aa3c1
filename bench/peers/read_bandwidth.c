// Measures how fast this machine reads memory: the limit that decode speed is compared with.
// Built by machine.py when a benchmark runs; not part of Stoker.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kMaxThreads = 256, kLanes = 8, kHugePageBytes = 2 << 20 };

// 64 bytes: one AVX-512 register or one cache line; unaligned types are not needed.
typedef uint64_t Vector __attribute__((vector_size(64)));

typedef struct {
  const Vector* data;
  size_t vectors;
  int cpu;
  pthread_barrier_t* start;
  double begin_s;
  double end_s;
  uint64_t sum;
} Reader;

static double NowS(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* Read(void* argument) {
  Reader* reader = argument;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)reader->cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);  // a hint: failing is harmless
  Vector sums[kLanes];
  memset(sums, 0, sizeof sums);
  pthread_barrier_wait(reader->start);
  reader->begin_s = NowS();
  // Two streams a thread keep more cache misses in flight than one.
  const size_t half = reader->vectors / 2;
  const Vector* low = reader->data;
  const Vector* high = reader->data + half;
  for (size_t i = 0; i + kLanes / 2 <= half; i += kLanes / 2) {
    for (size_t lane = 0; lane < kLanes / 2; ++lane) {
      sums[lane] += low[i + lane];
      sums[kLanes / 2 + lane] += high[i + lane];
    }
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
  const size_t part = bytes / (size_t)threads / kHugePageBytes * kHugePageBytes;
  pthread_t ids[kMaxThreads];
  Reader readers[kMaxThreads];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    readers[i] = (Reader){.data = (const Vector*)((const char*)data + part * (size_t)i),
                          .vectors = part / sizeof(Vector),
                          .cpu = cpus[i],
                          .start = &start};
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
  pthread_barrier_destroy(&start);
  return 1e-9 * (double)(part * (size_t)threads) / (end_s - begin_s);
}

/// Frees what stoker_bandwidth_open gave. The rest of the last huge page goes with the process.
void stoker_bandwidth_close(void* data, size_t bytes) {
  munmap(data, bytes / kHugePageBytes * kHugePageBytes);
}
