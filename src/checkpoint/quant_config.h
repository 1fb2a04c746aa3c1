#pragma once

#include "checkpoint/config_fields.h"
#include "checkpoint/model_config.h"
#include "nlohmann/json_fwd.hpp"

namespace stoker::checkpoint {

/// Reads `quantization_config` of `parent`, every field that changes what the weights mean. Records
/// kUnimplemented in `parent` for any scheme but compressed-tensors `pack-quantized` symmetric INT4
/// in groups of 32 and FP8 E4M3 in 128 x 128 blocks.
QuantMethod ReadQuantization(ConfigFields& parent);

/// The `quantization_config` that ReadQuantization reads as `method`; null for kNone.
nlohmann::ordered_json FormatQuantization(QuantMethod method);

}  // namespace stoker::checkpoint
