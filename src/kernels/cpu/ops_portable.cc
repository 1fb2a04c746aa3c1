// The kernels for any processor.
#include "kernels/cpu/target.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

#include "kernels/cpu/simd_portable-inl.h"
// The kernels build on the primitives above.
#include "kernels/cpu/kernels-inl.h"

#include "kernels/cpu/table-inl.h"

namespace stoker::kernels {

const OpTable& PortableOps() {
  return kOps;
}

}  // namespace stoker::kernels
