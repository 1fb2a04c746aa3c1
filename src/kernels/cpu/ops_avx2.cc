// The kernels for AVX2 + FMA + F16C.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

STOKER_BEGIN_TARGET("avx2,fma,f16c")
#include "kernels/cpu/simd_avx2-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"
STOKER_END_TARGET

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& Avx2Ops() {
  return kOps;
}

}  // namespace stoker::kernels

#endif
