// The kernels for AVX-512 F/BW/DQ/VL + VNNI.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

STOKER_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#include "kernels/cpu/simd_avx512-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"
STOKER_END_TARGET

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& Avx512Ops() {
  return kOps;
}

}  // namespace stoker::kernels

#endif
