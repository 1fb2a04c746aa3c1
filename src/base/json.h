#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace stoker {

/// Parses one JSON document from text that nobody vouches for.
/// Errors: kInvalidArgument for malformed text, invalid UTF-8, anything after the document, a key
/// that stands twice in an object, or nesting beyond 200 levels (which would overflow the stack of
/// whoever walks the value).
/// Include "nlohmann/json.hpp" to use the value.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

/// As ParseJson, but objects keep the order of their keys, and of a repeated key the last value.
absl::StatusOr<nlohmann::ordered_json> ParseOrderedJson(std::string_view text);

/// `value` on one line. Bytes in it that are no UTF-8 (a path's, say) become U+FFFD: unlike the
/// library's dump() this never throws.
std::string DumpJson(const nlohmann::ordered_json& value);

}  // namespace stoker
