// What the vector unit does in registers alone: the ceiling of every product, and the reason why
// BF16 weights meet float32 activations (docs/adr/0001-no-bf16-dot.md).
#include "bench/micro/machine.h"
#include "benchmark/benchmark.h"

namespace stoker::bench {
namespace {

void Instructions(benchmark::State& state, Instruction instruction) {
  if (!Supported(instruction)) {
    state.SkipWithError("this processor lacks the instruction");
    return;
  }
  std::size_t done = 0;
  for (auto _ : state) done += RunInstruction(instruction, 1 << 16);
  state.counters["GMAC/s"] =
      benchmark::Counter(static_cast<double>(done) * 1e-9, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(Instructions, FmaF32, Instruction::kFmaF32)->UseRealTime();
BENCHMARK_CAPTURE(Instructions, DotInt8, Instruction::kDotInt8)->UseRealTime();
BENCHMARK_CAPTURE(Instructions, DotBf16, Instruction::kDotBf16)->UseRealTime();

void ReadMemory(benchmark::State& state) {
  double best = 0.0;
  for (auto _ : state) best = std::max(best, ReadBandwidth());
  state.counters["GB/s"] = best * 1e-9;
}
BENCHMARK(ReadMemory)->UseRealTime()->Iterations(1);

}  // namespace
}  // namespace stoker::bench

BENCHMARK_MAIN();
