// The kernels for AVX-512 F/BW/DQ/VL + VNNI + BF16 on processors whose vdpbf16ps issues every
// cycle.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

namespace stoker::kernels {
namespace {

/// Panels multiplied side by side with `tokens` rows of activations: enough independent sums to
/// hide the latency of a fused multiply-add, few enough to stay in 32 registers.
constexpr std::size_t PanelTile(std::size_t tokens) {
  return tokens <= 4 ? 4 : 2;
}
constexpr std::size_t Int4PanelTile(std::size_t tokens) {
  return tokens <= 4 ? 4 : (tokens <= 6 ? 2 : 1);
}
/// Tokens whose INT4 sums advance side by side.
inline constexpr int kInt4InStep = 6;
inline constexpr std::size_t kMaxTokenTile = 12;
/// Weights are prefetched into the second-level cache: hints to the first one cost a tenth here, no
/// hints cost a fifth where products take longer than reading.
inline constexpr int kPrefetchLocality = 2;

}  // namespace
}  // namespace stoker::kernels

STOKER_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")
#include "kernels/cpu/simd_avx512-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"
// And this on the kernels' tiles.
#include "kernels/cpu/bf16_dot-inl.h"
STOKER_END_TARGET

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& Avx512Bf16Ops() {
  static constexpr OpTable kOps = TableOf<Bf16Pairs>();
  return kOps;
}

}  // namespace stoker::kernels

#endif
