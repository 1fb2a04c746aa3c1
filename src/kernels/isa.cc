#include "kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/status.h"
#include "base/suggest.h"
#include "kernels/context.h"
#include "kernels/op_table.h"

namespace stoker::kernels {
namespace {

constexpr Isa kAll[] = {Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2, Isa::kPortable, Isa::kRef};

#if defined(__x86_64__)
// clang 14's __builtin_cpu_supports does not know this one.
bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

/// Whether vdpbf16ps issues every cycle, as AMD's does. Intel's issues every other one and so does
/// half the work of a float32 instruction: docs/adr/0001-no-bf16-dot.md.
bool FastBf16Dot() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

bool Supported(Isa isa) {
  switch (isa) {
    case Isa::kRef:
    case Isa::kPortable:
      return true;
#if defined(__x86_64__)
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
    case Isa::kAvx512:
      return Supported(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    case Isa::kAvx512Bf16:
      return Supported(Isa::kAvx512) && __builtin_cpu_supports("avx512bf16");
#else
    case Isa::kAvx2:
    case Isa::kAvx512:
    case Isa::kAvx512Bf16:
      return false;
#endif
  }
  return false;
}

}  // namespace

std::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::kRef:
      return "ref";
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512bf16";
  }
  return "?";
}

std::vector<Isa> SupportedIsas() {
  std::vector<Isa> supported;
  for (const Isa isa : kAll) {
    if (Supported(isa)) supported.push_back(isa);
  }
  if (supported.front() == Isa::kAvx512Bf16 && !FastBf16Dot())
    std::swap(supported[0], supported[1]);
  return supported;
}

absl::StatusOr<Isa> ParseIsa(std::string_view name) {
  const std::vector<Isa> supported = SupportedIsas();
  if (name == "auto") return supported.front();
  std::vector<std::string> names = {"auto"};
  for (const Isa isa : kAll) {
    if (name == Name(isa)) {
      if (std::ranges::find(supported, isa) != supported.end()) return isa;
      return InvalidArgument("instruction set {}: this processor lacks it; its best is {}", name,
                             Name(supported.front()));
    }
    names.emplace_back(Name(isa));
  }
  return InvalidArgument(
      "unknown instruction set \"{}\", expected auto, avx512bf16, avx512, avx2, portable or ref{}",
      name, DidYouMean(name, names));
}

const OpTable& OpsFor(Isa isa) {
  STOKER_CHECK(Supported(isa));
  switch (isa) {
    case Isa::kRef:
      return RefOps();
    case Isa::kPortable:
      return PortableOps();
#if defined(__x86_64__)
    case Isa::kAvx2:
      return Avx2Ops();
    case Isa::kAvx512:
      return Avx512Ops();
    case Isa::kAvx512Bf16:
      return Avx512Bf16Ops();
#else
    case Isa::kAvx2:
    case Isa::kAvx512:
    case Isa::kAvx512Bf16:
      break;
#endif
  }
  return RefOps();
}

bool QuantizesActivations(const OpTable& ops) {
  return ops.quantizes_activations;
}

}  // namespace stoker::kernels
