#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/vocabulary.h"

namespace stoker::text {

/// Reads a tiktoken.model: a line a token, its bytes in base64, a space, its rank. Ranks are ids;
/// they must be 0 … n-1, each once, in any order.
/// Errors: kInvalidArgument with the line.
absl::StatusOr<std::vector<VocabularyEntry>> ParseTiktokenFile(std::string_view contents);

}  // namespace stoker::text
