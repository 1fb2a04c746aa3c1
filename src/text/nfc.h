#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stoker::text {

/// True where `text` (valid UTF-8) has no character that normalization form C could touch, told by
/// the code points below U+0300 alone; false says nothing.
bool IsSurelyNfc(std::string_view text);

/// `text` (valid UTF-8) in Unicode normalization form C. Errors: kInvalidArgument.
absl::StatusOr<std::string> ToNfc(std::string_view text);

}  // namespace stoker::text
