#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stoker::kernels {

/// Which set of kernels runs.
enum class Isa : std::uint8_t {
  kRef,         ///< plain loops, float32 activations throughout: obviously right, slow
  kPortable,    ///< any processor
  kAvx2,        ///< AVX2 + FMA + F16C
  kAvx512,      ///< AVX-512 F/BW/DQ/VL + VNNI
  kAvx512Bf16,  ///< the same + BF16: activations that meet BF16 weights are rounded to BF16
};

/// As --isa takes it: "avx2".
std::string_view Name(Isa isa);

/// Instruction sets that this processor can run, best first. kPortable and kRef always can;
/// kAvx512Bf16 comes before kAvx512 only where its instruction is the faster one (AMD's).
std::vector<Isa> SupportedIsas();

/// "auto" is the best supported one. Errors: kInvalidArgument for an unknown name (with a
/// suggestion) or one that this processor lacks.
absl::StatusOr<Isa> ParseIsa(std::string_view name);

}  // namespace stoker::kernels
