#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/pre_tokenizer.h"

namespace stoker::text {

/// Reads the pre_tokenizer of a tokenizer.json: ByteLevel, or a Sequence of Split and Digits that
/// ends with ByteLevel; nullptr stands for null.
/// Errors: kInvalidArgument, naming what is not supported.
absl::StatusOr<std::vector<SplitStage>> ParseSplitStages(const nlohmann::json* pre_tokenizer);

}  // namespace stoker::text
