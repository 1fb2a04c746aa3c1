#pragma once

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer_spec.h"

namespace stoker::text {

/// Reads a Hugging Face tokenizer.json that holds a byte-level BPE. What would change the tokens
/// and is not supported is refused by name; truncation and padding, which servers do not use, are
/// not read.
/// Errors: kInvalidArgument.
absl::StatusOr<TokenizerSpec> ParseTokenizerJson(const nlohmann::json& json);

}  // namespace stoker::text
