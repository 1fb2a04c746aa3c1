#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "kernels/isa.h"
#include "kernels/linear.h"
#include "kernels/packed_matrix.h"
#include "tensor/linear_weight.h"

/// What an instruction set has to provide: single-threaded functions on a few rows or panels.
/// The drivers (linear.cc, mlp.cc, attention.cc, elementwise.cc) share work between threads and
/// call these; they are the same for every set.
namespace stoker::kernels {

/// Rows somewhere in memory, optionally picked by an index.
template <typename T>
struct RowSet {
  T* base = nullptr;
  std::size_t stride = 0;               ///< elements
  const std::int32_t* index = nullptr;  ///< row numbers, or null for 0, 1, 2, …

  [[nodiscard]] T* operator[](std::size_t i) const {
    return base + (index != nullptr ? static_cast<std::size_t>(index[i]) : i) * stride;
  }
};

/// y[t][16 p + lane] = x[t] . panels[p][lane] for all tokens t and panels p.
struct ProductArgs {
  tensor::WeightFormat format = tensor::WeightFormat::kBf16;
  bool exact = false;  ///< float32 activations, whatever rounds_bf16_activations says
  std::size_t cols = 0;
  std::span<const std::byte* const> panels = {};
  std::size_t last_lanes = kPanelRows;  ///< lanes of the last panel that are stored
  std::size_t tokens = 0;
  RowSet<const float> x = {};
  RowSet<const QuantizedGroup> quantized = {};  ///< instead of x, for INT4 in sets that quantise
  RowSet<float> y = {};
};

/// A group of 32 activations whose largest magnitude is below this rounds to zeros: its inverse
/// would overflow.
inline constexpr float kSmallestQuantized = 1e-30F;

/// Positions in one segment of attention: partial results are formed per segment, whose bounds
/// are multiples of this, and merged in ascending order.
inline constexpr std::size_t kSegmentPositions = 256;
/// Most queries (token, head pairs) in one call of an attention op.
inline constexpr std::size_t kMaxQueries = 128;

/// Attention of some queries of one sequence over one segment, not yet normalised: with
/// s_t = scale (q . entry_t) over positions t of the segment below the query's `visible`,
/// max = max s_t, sum = sum exp(s_t - max), out = sum exp(s_t - max) c_t.
/// A query that sees nothing here gets sum 0 and an undefined out.
struct MlaSegmentArgs {
  const PagedKv* kv = nullptr;
  std::span<const std::int32_t> block_ids;
  std::size_t first = 0;  ///< first position, a multiple of kSegmentPositions
  std::size_t count = 0;  ///< positions that any query sees, at most kSegmentPositions
  float scale = 1.0F;
  std::size_t queries = 0;                 ///< at most kMaxQueries
  const float* const* q_latent = nullptr;  // [queries]
  const float* const* q_rope = nullptr;    // [queries]
  const std::size_t* visible = nullptr;    // [queries]
  float* scores = nullptr;                 // [queries, kSegmentPositions], scratch
  float* out = nullptr;                    // [queries, latent]
  float* max = nullptr;                    // [queries]
  float* sum = nullptr;                    // [queries]
};

/// A query's running softmax: maximum, sum and weighted values so far.
struct SoftmaxState {
  float* out = nullptr;  // [latent]
  float max = 0.0F;
  float sum = 0.0F;  ///< 0: nothing yet
};

/// The kernels of one instruction set. Rows are contiguous unless a stride is given; functions keep
/// no state and may run on any thread.
struct OpTable {
  /// INT4 weights meet activations rounded to 8 bits; else ProductArgs::x is used.
  bool quantizes_activations = false;
  /// BF16 weights meet activations rounded to BF16, unless ProductArgs::exact.
  bool rounds_bf16_activations = false;

  /// y = x W^T; see ProductArgs.
  void (*product)(const ProductArgs& args) = nullptr;
  /// Rounds `groups` groups of 32 floats.
  void (*quantize)(const float* x, std::size_t groups, QuantizedGroup* out) = nullptr;
  /// out = silu(gate) * up; out may be gate or up.
  void (*swiglu)(const float* gate, const float* up, std::size_t count, float* out) = nullptr;
  /// y = x / sqrt(mean(x^2) + eps) * weight; y may be x.
  void (*rms_norm)(const float* x, const float* weight, std::size_t cols, float eps,
                   float* y) = nullptr;
  /// y += x.
  void (*add)(const float* x, std::size_t count, float* y) = nullptr;
  /// y += sum over i in ascending order of weights[i] * x[i * stride …].
  void (*add_scaled)(const float* x, std::size_t stride, std::span<const float> weights,
                     std::size_t count, float* y) = nullptr;
  /// Turns each pair (x[2i], x[2i + 1]) of `dim` elements by the angle whose cosine and sine are
  /// given, in place.
  void (*rope)(float* x, std::size_t dim, const float* cos, const float* sin) = nullptr;
  /// Writes `count` elements to the cache, rounded to nearest where `dtype` is BF16.
  void (*store_kv)(const float* x, std::size_t count, KvDType dtype, std::byte* out) = nullptr;
  /// `scores` is scratch.
  void (*mla_segment)(const MlaSegmentArgs& args) = nullptr;
  /// Merges a segment's result into `state`, whose segments all lie before it.
  void (*mla_merge)(const float* out, float max, float sum, std::size_t latent,
                    SoftmaxState& state) = nullptr;
  /// y = state.out / state.sum; zeros when nothing was seen.
  void (*mla_finish)(const SoftmaxState& state, std::size_t latent, float* y) = nullptr;

  // Packing of whole panels; null in kRef. Rows need no alignment.
  /// Transposes `words` 32-bit words of 16 rows to [words][16].
  void (*pack_words)(const std::byte* const* rows, std::size_t words, std::byte* out) = nullptr;
  /// Rearranges `groups` groups of 32 INT4 columns of 16 rows to [groups][256 bytes].
  void (*pack_int4)(const std::byte* const* rows, std::size_t groups, std::byte* out) = nullptr;
};

/// Plain loops in float32: the definition of every op.
const OpTable& RefOps();
/// For any processor.
const OpTable& PortableOps();
/// Only where the processor has them: see OpsFor.
const OpTable& Avx2Ops();
const OpTable& Avx512Ops();
const OpTable& Avx512Bf16Ops();

}  // namespace stoker::kernels
