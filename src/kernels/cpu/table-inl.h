#pragma once

// The table of the kernels included before, with BF16 weights read as Bf16Kernel.
namespace stoker::kernels {
namespace {

constexpr OpTable kOps = {
    .quantizes_activations = true,
    .rounds_bf16_activations = Bf16Kernel::kRoundsActivations,
    .product = Product<Bf16Kernel>,
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

}  // namespace
}  // namespace stoker::kernels
