#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

/// Every op as its definition reads: plain loops, float32 operands, sums in double.
namespace stoker::kernels {
namespace {

void Product(const ProductArgs& args) {
  for (std::size_t p = 0; p < args.panels.size(); ++p) {
    const bool last = p + 1 == args.panels.size();
    const std::size_t lanes = last ? args.last_lanes : kPanelRows;
    // WeightAt only reads.
    const PackedMatrix panel{.format = args.format,
                             .rows = kPanelRows,
                             .cols = args.cols,
                             .data = const_cast<std::byte*>(args.panels[p])};
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t token = 0; token < args.tokens; ++token) {
        const float* x = args.x[token];
        double sum = 0.0;
        for (std::size_t col = 0; col < args.cols; ++col) {
          sum += static_cast<double>(WeightAt(panel, lane, col)) * static_cast<double>(x[col]);
        }
        args.y[token][p * kPanelRows + lane] = static_cast<float>(sum);
      }
    }
  }
}

void Quantize(const float* x, std::size_t groups, QuantizedGroup* out) {
  for (std::size_t group = 0; group < groups; ++group) {
    const float* from = x + group * tensor::kInt4Group;
    float largest = 0.0F;
    bool nan = false;
    for (std::size_t i = 0; i < tensor::kInt4Group; ++i) {
      largest = std::max(largest, std::abs(from[i]));
      nan = nan || std::isnan(from[i]);
    }
    const float inverse = largest >= kSmallestQuantized ? 127.0F / largest : 0.0F;
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < tensor::kInt4Group; ++i) {
      const float scaled = from[i] * inverse;
      const float rounded = std::isfinite(scaled) ? std::nearbyint(scaled) : 0.0F;
      out[group].values[i] = static_cast<std::int8_t>(rounded);
      sum += out[group].values[i];
    }
    out[group].scale = largest < kSmallestQuantized ? 0.0F : largest * (1.0F / 127.0F);
    if (nan) out[group].scale = std::numeric_limits<float>::quiet_NaN();
    out[group].offset = -8 * sum;
  }
}

void Swiglu(const float* gate, const float* up, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
  }
}

void RmsNormRow(const float* x, const float* weight, std::size_t cols, float eps, float* y) {
  double sum = 0.0;
  for (std::size_t col = 0; col < cols; ++col) {
    sum += static_cast<double>(x[col]) * static_cast<double>(x[col]);
  }
  const double mean = sum / static_cast<double>(cols);
  const auto factor = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (std::size_t col = 0; col < cols; ++col) y[col] = x[col] * factor * weight[col];
}

void AddRow(const float* x, std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] += x[i];
}

void AddScaled(const float* x, std::size_t stride, std::span<const float> weights,
               std::size_t count, float* y) {
  for (std::size_t row = 0; row < weights.size(); ++row) {
    for (std::size_t i = 0; i < count; ++i) y[i] += weights[row] * x[row * stride + i];
  }
}

void RopeSlice(float* x, std::size_t dim, const float* cos, const float* sin) {
  for (std::size_t i = 0; i < dim / 2; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

void StoreKvRow(const float* x, std::size_t count, KvDType dtype, std::byte* out) {
  if (dtype == KvDType::kF32) {
    std::memcpy(out, x, count * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const tensor::Bf16 value = tensor::ToBf16(x[i]);
    std::memcpy(out + i * sizeof(value), &value, sizeof(value));
  }
}

float KvAt(const MlaSegmentArgs& args, std::size_t position, std::size_t element) {
  const std::byte* entry =
      args.kv->Entry(args.block_ids[position / kKvBlockTokens], position % kKvBlockTokens);
  if (args.kv->dtype == KvDType::kF32) {
    float value = 0;
    std::memcpy(&value, entry + element * sizeof(value), sizeof(value));
    return value;
  }
  tensor::Bf16 value{};
  std::memcpy(&value, entry + element * sizeof(value), sizeof(value));
  return tensor::ToFloat(value);
}

float Score(const MlaSegmentArgs& args, std::size_t query, std::size_t position) {
  double sum = 0.0;
  for (std::size_t i = 0; i < args.kv->latent; ++i) {
    sum +=
        static_cast<double>(args.q_latent[query][i]) * static_cast<double>(KvAt(args, position, i));
  }
  for (std::size_t i = 0; i < args.kv->rope; ++i) {
    sum += static_cast<double>(args.q_rope[query][i]) *
           static_cast<double>(KvAt(args, position, args.kv->latent + i));
  }
  return args.scale * static_cast<float>(sum);
}

void MlaSegment(const MlaSegmentArgs& args) {
  for (std::size_t query = 0; query < args.queries; ++query) {
    float* scores = args.scores + query * kSegmentPositions;
    const std::size_t seen = args.visible[query] <= args.first
                                 ? 0
                                 : std::min(args.count, args.visible[query] - args.first);
    args.sum[query] = 0.0F;
    if (seen == 0) continue;
    for (std::size_t t = 0; t < seen; ++t) scores[t] = Score(args, query, args.first + t);
    const float max = *std::max_element(scores, scores + seen);
    double sum = 0.0;
    for (std::size_t t = 0; t < seen; ++t) {
      scores[t] = std::exp(scores[t] - max);
      sum += static_cast<double>(scores[t]);
    }
    for (std::size_t i = 0; i < args.kv->latent; ++i) {
      double value = 0.0;
      for (std::size_t t = 0; t < seen; ++t) {
        value +=
            static_cast<double>(scores[t]) * static_cast<double>(KvAt(args, args.first + t, i));
      }
      args.out[query * args.kv->latent + i] = static_cast<float>(value);
    }
    args.max[query] = max;
    args.sum[query] = static_cast<float>(sum);
  }
}

void MlaMerge(const float* out, float max, float sum, std::size_t latent, SoftmaxState& state) {
  if (sum == 0.0F) return;
  if (state.sum == 0.0F) {
    std::copy_n(out, latent, state.out);
    state.max = max;
    state.sum = sum;
    return;
  }
  const float new_max = std::max(state.max, max);
  const float keep = std::exp(state.max - new_max);
  const float add = std::exp(max - new_max);
  for (std::size_t i = 0; i < latent; ++i) state.out[i] = state.out[i] * keep + out[i] * add;
  state.max = new_max;
  state.sum = state.sum * keep + sum * add;
}

void MlaFinish(const SoftmaxState& state, std::size_t latent, float* y) {
  for (std::size_t i = 0; i < latent; ++i) {
    y[i] = state.sum == 0.0F ? 0.0F : state.out[i] / state.sum;
  }
}

constexpr OpTable kRefOps = {
    .quantizes_activations = false,
    .product = Product,
    .quantize = Quantize,
    .swiglu = Swiglu,
    .rms_norm = RmsNormRow,
    .add = AddRow,
    .add_scaled = AddScaled,
    .rope = RopeSlice,
    .store_kv = StoreKvRow,
    .mla_segment = MlaSegment,
    .mla_merge = MlaMerge,
    .mla_finish = MlaFinish,
};

}  // namespace

const OpTable& RefOps() {
  return kRefOps;
}

}  // namespace stoker::kernels
