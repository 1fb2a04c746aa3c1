#pragma once

namespace stoker::kernels {
namespace {

/// The table of the kernels included before. Bf16 is how BF16 weights meet activations that may be
/// rounded.
template <typename Bf16>
constexpr OpTable TableOf() {
  return {
      .quantizes_activations = true,
      .rounds_bf16_activations = Bf16::kRoundsActivations,
      .product = Product<Bf16>,
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
      .pack_words = PackWords,
      .pack_int4 = PackInt4,
  };
}

}  // namespace
}  // namespace stoker::kernels
