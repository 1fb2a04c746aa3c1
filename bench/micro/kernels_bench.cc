// Products as a step does them: weights streamed from memory that no cache holds, at one layer's
// shapes of a 16B-A3B model (hidden 2048, 64 experts of width 1408, top 6, two shared, 16 heads).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "base/check.h"
#include "bench/micro/machine.h"
#include "benchmark/benchmark.h"
#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/mlp.h"
#include "kernels/op_table.h"
#include "tensor/matrix.h"

namespace stoker::bench {
namespace {

using kernels::Context;
using kernels::Isa;
using kernels::PackedMatrix;
using tensor::MatrixView;
using tensor::WeightFormat;

constexpr std::size_t kHidden = 2048;
constexpr std::size_t kWidth = 1408;
constexpr std::size_t kExperts = 64;
constexpr std::size_t kTopK = 6;
/// More than any cache: 2 GiB.
constexpr std::size_t kPoolBytes = std::size_t{2} << 30;

Context ContextOf(Isa isa) {
  return {.ops = &kernels::OpsFor(isa), .pool = &Pool()};
}

/// Bytes that are small finite weights in every format.
std::span<std::byte> WeightBytes() {
  static sys::HugeBuffer buffer = [] {
    sys::HugeBuffer fresh = Allocate(kPoolBytes);
    std::mt19937 random(1);
    std::vector<std::uint32_t> block(1 << 18);
    // As BF16 or F16 pairs small normal numbers; as nibbles and FP8 codes anything but NaN.
    for (auto& word : block) word = (random() & 0x83ff83ffU) | 0x38003800U;
    std::span<std::byte> bytes = fresh.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += block.size() * 4) {
      std::memcpy(bytes.data() + at, block.data(), block.size() * 4);
    }
    return fresh;
  }();
  return buffer.bytes();
}

/// Successive matrices from the pool, so that none is still cached when its turn comes again.
class Weights {
 public:
  PackedMatrix Next(WeightFormat format, std::size_t rows, std::size_t cols) {
    const std::size_t bytes = kernels::PackedBytes(format, rows, cols);
    if (at_ + bytes > kPoolBytes) at_ = 0;
    PackedMatrix matrix{
        .format = format, .rows = rows, .cols = cols, .data = WeightBytes().data() + at_};
    at_ += bytes;
    return matrix;
  }

 private:
  std::size_t at_ = 0;
};

std::vector<float> RandomFloats(std::size_t count) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// The fastest of the iterations, against limits measured just before.
class Report {
 public:
  explicit Report(benchmark::State& state) : state_(state), read_peak_(ReadBandwidth()) {}

  template <typename Fn>
  void Time(const Fn& fn) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state_.SetIterationTime(seconds);
    seconds_.push_back(seconds);
  }

  void Finish(double bytes, double macs, Instruction unit) {
    std::sort(seconds_.begin(), seconds_.end());
    const double median = seconds_[seconds_.size() / 2];
    const double compute_peak = Rate(unit) * Pool().size();
    const double read_peak = std::max(read_peak_, ReadBandwidth());
    state_.counters["GB/s"] = bytes / median * 1e-9;
    state_.counters["read%"] = 100.0 * bytes / median / read_peak;
    state_.counters["GMAC/s"] = macs / median * 1e-9;
    state_.counters["mac%"] = 100.0 * macs / median / compute_peak;
    state_.counters["us"] = median * 1e6;
  }

 private:
  benchmark::State& state_;
  double read_peak_;
  std::vector<double> seconds_;
};

Instruction UnitOf(WeightFormat format) {
  return format == WeightFormat::kInt4Group32 ? Instruction::kDotInt8 : Instruction::kFmaF32;
}

/// One matrix [rows, 2048] times `tokens` rows.
void LinearBench(benchmark::State& state, WeightFormat format, Isa isa) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const std::size_t rows = 3072;
  const Context context = ContextOf(isa);
  const std::vector<float> x = RandomFloats(tokens * kHidden);
  const MatrixView<const float> x_view(x.data(), tokens, kHidden);
  tensor::Matrix<float> y;
  kernels::QuantizedRows quantized;
  quantized.Assign(context, x_view);
  Weights weights;
  WeightBytes();
  Report report(state);
  double bytes = 0.0;
  for (auto _ : state) {
    const kernels::LinearJob job{
        {x_view, &quantized}, weights.Next(format, rows, kHidden), y.Resize(tokens, rows)};
    bytes = static_cast<double>(job.weight.bytes());
    report.Time([&] { Linear(context, {&job, 1}); });
  }
  report.Finish(bytes, static_cast<double>(rows * kHidden * tokens), UnitOf(format));
}

struct Layer {
  std::vector<kernels::MlpWeights> experts;
  kernels::MlpWeights shared;
};

kernels::MlpWeights NextMlp(Weights& weights, WeightFormat format, std::size_t width) {
  return {weights.Next(format, width, kHidden), weights.Next(format, width, kHidden),
          weights.Next(format, kHidden, width)};
}

/// One MoE layer: INT4 experts picked at random, BF16 shared expert.
void MoeBench(benchmark::State& state, WeightFormat format, Isa isa) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const Context context = ContextOf(isa);
  const std::vector<float> x = RandomFloats(tokens * kHidden);
  const MatrixView<const float> x_view(x.data(), tokens, kHidden);
  kernels::QuantizedRows quantized;
  kernels::MlpWorkspace workspace;
  tensor::Matrix<float> y;
  const std::size_t routed = tokens * kTopK;
  y.Resize(routed + tokens, kHidden);
  std::mt19937 random(3);
  Weights weights;
  WeightBytes();
  Report report(state);
  double bytes = 0.0;
  double macs = 0.0;
  for (auto _ : state) {
    Layer layer;
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      layer.experts.push_back(NextMlp(weights, format, kWidth));
    }
    layer.shared = NextMlp(weights, WeightFormat::kBf16, 2 * kWidth);
    std::array<std::vector<std::int32_t>, kExperts> in;
    std::array<std::vector<std::int32_t>, kExperts> out;
    std::array<std::size_t, kExperts> order;
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t token = 0; token < tokens; ++token) {
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t slot = 0; slot < kTopK; ++slot) {
        in[order[slot]].push_back(static_cast<std::int32_t>(token));
        out[order[slot]].push_back(static_cast<std::int32_t>(token * kTopK + slot));
      }
    }
    std::vector<kernels::MlpJob> jobs;
    bytes = 0.0;
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      if (in[expert].empty()) continue;
      jobs.push_back({&layer.experts[expert], in[expert], out[expert]});
      bytes += static_cast<double>(layer.experts[expert].bytes());
    }
    std::vector<std::int32_t> all(tokens);
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int32_t> shared_out(tokens);
    std::iota(shared_out.begin(), shared_out.end(), static_cast<std::int32_t>(routed));
    jobs.push_back({&layer.shared, all, shared_out});
    bytes += static_cast<double>(layer.shared.bytes());
    macs = static_cast<double>(tokens * (kTopK + 2) * kWidth * kHidden * 3);
    report.Time([&] {
      quantized.Assign(context, x_view);
      GroupedMlp(context, {x_view, &quantized}, jobs, workspace, y.view());
    });
  }
  report.Finish(bytes, macs, Instruction::kFmaF32);
}

/// Attention of `tokens` new tokens after `context_tokens` cached ones.
void AttentionBench(benchmark::State& state, std::size_t heads, Isa isa) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const auto cached = static_cast<std::size_t>(state.range(1));
  constexpr std::size_t kLatent = 512;
  constexpr std::size_t kRope = 64;
  const Context context = ContextOf(isa);
  const std::size_t blocks = (cached + tokens) / kernels::kKvBlockTokens + 1;
  std::vector<std::int32_t> block_ids(blocks);
  std::iota(block_ids.begin(), block_ids.end(), 0);
  const kernels::PagedKv kv{.base = WeightBytes().data(),
                            .block_stride_bytes = kernels::kKvBlockTokens * (kLatent + kRope) * 2,
                            .latent = kLatent,
                            .rope = kRope};
  std::vector<kernels::MlaToken> rows;
  double pairs = 0.0;
  for (std::size_t token = 0; token < tokens; ++token) {
    rows.push_back({block_ids, cached + token + 1});
    pairs += static_cast<double>(cached + token + 1);
  }
  const std::vector<float> q = RandomFloats(tokens * heads * kLatent);
  const std::vector<float> q_rope = RandomFloats(tokens * heads * kRope);
  tensor::Matrix<float> out;
  kernels::AttentionWorkspace workspace;
  const kernels::MlaArgs args{.kv = kv,
                              .heads = heads,
                              .scale = 0.01F,
                              .tokens = rows,
                              .q_latent = {q.data(), tokens, heads * kLatent},
                              .q_rope = {q_rope.data(), tokens, heads * kRope},
                              .q_rope_head_stride = kRope,
                              .out = out.Resize(tokens, heads * kLatent)};
  Report report(state);
  for (auto _ : state) report.Time([&] { MlaAttention(context, args, workspace); });
  report.Finish(static_cast<double>((cached + tokens) * (kLatent + kRope) * 2),
                pairs * static_cast<double>(heads * (2 * kLatent + kRope)), Instruction::kFmaF32);
}

/// Packing one expert's matrix as a loader does.
void PackBench(benchmark::State& state, WeightFormat format) {
  const std::size_t rows = 1408;
  const std::size_t weight_bytes =
      format == WeightFormat::kInt4Group32 ? rows * kHidden / 2 : rows * kHidden * 2;
  const std::size_t scale_bytes =
      format == WeightFormat::kInt4Group32 ? rows * kHidden / 32 * 2 : 0;
  constexpr std::size_t kMatrices = 128;
  sys::HugeBuffer target = Allocate(kMatrices * kernels::PackedBytes(format, rows, kHidden));
  std::memset(target.bytes().data(), 0, target.bytes().size());
  Report report(state);
  for (auto _ : state) {
    report.Time([&] {
      Pool().ParallelFor(kMatrices, [&](std::size_t i, int) {
        const std::span<const std::byte> source =
            WeightBytes().subspan(i * (weight_bytes + scale_bytes));
        const tensor::LinearWeight weight{.format = format,
                                          .rows = rows,
                                          .cols = kHidden,
                                          .weight = source.first(weight_bytes),
                                          .scale = source.subspan(weight_bytes, scale_bytes)};
        PackedMatrix packed{.format = format, .rows = rows, .cols = kHidden};
        packed.data = target.bytes().data() + i * packed.bytes();
        STOKER_CHECK(PackPanels(weight, packed, 0, packed.panels()).ok());
      });
    });
  }
  report.Finish(static_cast<double>(kMatrices * (weight_bytes + scale_bytes)), 0.0,
                Instruction::kFmaF32);
}

void Register() {
  const std::vector<std::int64_t> batches = {1, 2, 4, 8, 16, 32, 512};
  const auto set_up = [](benchmark::internal::Benchmark* benchmark) {
    benchmark->UseManualTime()->MinTime(0.3);
  };
  for (const Isa isa : kernels::SupportedIsas()) {
    if (isa == Isa::kRef) continue;
    const std::string suffix = "/" + std::string(Name(isa));
    for (const WeightFormat format :
         {WeightFormat::kBf16, WeightFormat::kInt4Group32, WeightFormat::kFp8Block128,
          WeightFormat::kF16, WeightFormat::kF32}) {
      const std::string name = "Linear/" + std::string(Name(format)) + suffix;
      auto* linear = benchmark::RegisterBenchmark(name.c_str(), LinearBench, format, isa);
      linear->ArgsProduct({batches});
      set_up(linear);
    }
    for (const WeightFormat format : {WeightFormat::kInt4Group32, WeightFormat::kBf16}) {
      const std::string name = "Moe/" + std::string(Name(format)) + suffix;
      auto* moe = benchmark::RegisterBenchmark(name.c_str(), MoeBench, format, isa);
      moe->ArgsProduct({batches});
      set_up(moe);
    }
    for (const std::size_t heads : {16U, 64U}) {
      const std::string name = "Attention/" + std::to_string(heads) + "heads" + suffix;
      auto* attention = benchmark::RegisterBenchmark(name.c_str(), AttentionBench, heads, isa);
      attention->Args({1, 255})->Args({1, 4095})->Args({1, 65535})->Args({8, 1023})->Args({512, 0});
      set_up(attention);
    }
  }
  for (const WeightFormat format : {WeightFormat::kBf16, WeightFormat::kInt4Group32}) {
    const std::string name = "Pack/" + std::string(Name(format));
    set_up(benchmark::RegisterBenchmark(name.c_str(), PackBench, format));
  }
}

[[maybe_unused]] const bool registered = (Register(), true);

}  // namespace
}  // namespace stoker::bench
