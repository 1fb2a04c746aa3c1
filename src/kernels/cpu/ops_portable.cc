// The kernels for any processor.
#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

namespace stoker::kernels {
namespace {

/// Panels multiplied side by side with `tokens` rows of float32 or 8-bit activations.
constexpr std::size_t PanelTile(std::size_t /*tokens*/) {
  return 1;
}
constexpr std::size_t Int4PanelTile(std::size_t /*tokens*/) {
  return 1;
}
/// Tokens whose INT4 sums advance side by side.
inline constexpr int kInt4InStep = 1;
inline constexpr std::size_t kMaxTokenTile = 2;
/// Weights are prefetched into the first-level cache.
inline constexpr int kPrefetchLocality = 3;

}  // namespace
}  // namespace stoker::kernels

#include "kernels/cpu/simd_portable-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& PortableOps() {
  static constexpr OpTable kOps = TableOf<Bf16Weights>();
  return kOps;
}

}  // namespace stoker::kernels
