#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stoker::text {

/// Rewrites a regular expression of a published tokenizer (written for Oniguruma or Rust) so that
/// PCRE2 matches the same text. The dialects differ without an error where it hurts: PCRE2 takes
/// \p{Han} for script *extensions*, counts U+180E as \s, and reads "&&" in a class as two
/// ampersands. Only what the published patterns use is let through.
/// Errors: kInvalidArgument, naming the construct that has no certain equivalent and its offset.
absl::StatusOr<std::string> TranslatePattern(std::string_view pattern);

}  // namespace stoker::text
