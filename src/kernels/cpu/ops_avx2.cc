// The kernels for AVX2 + FMA + F16C.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

namespace stoker::kernels {
namespace {

/// Panels multiplied side by side with `tokens` rows: at most 12 of the 16 registers are sums.
constexpr std::size_t PanelTile(std::size_t tokens) {
  return tokens <= 1 ? 4 : (tokens <= 3 ? 2 : 1);
}
constexpr std::size_t Int4PanelTile(std::size_t tokens) {
  return tokens <= 1 ? 2 : 1;
}
/// Tokens whose INT4 sums advance side by side.
inline constexpr int kInt4InStep = 1;
inline constexpr std::size_t kMaxTokenTile = 6;
/// Weights are prefetched into the first-level cache.
inline constexpr int kPrefetchLocality = 3;

}  // namespace
}  // namespace stoker::kernels

STOKER_BEGIN_TARGET("avx2,fma,f16c")
#include "kernels/cpu/simd_avx2-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"
STOKER_END_TARGET

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& Avx2Ops() {
  static constexpr OpTable kOps = TableOf<Bf16Weights>();
  return kOps;
}

}  // namespace stoker::kernels

#endif
