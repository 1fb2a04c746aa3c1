#pragma once

// Every kernel, over the primitives included before. Each file builds on the ones above it.
// clang-format off
#include "kernels/cpu/product-inl.h"
#include "kernels/cpu/elementwise-inl.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/pack-inl.h"
// clang-format on
