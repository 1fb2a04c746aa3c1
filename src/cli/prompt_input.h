#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/console.h"

namespace stoker::cli {

/// The text of -p: `given` itself, or all of standard input where it is "-" or missing. A newline
/// at the end of the input is not part of the text. Errors: kInvalidArgument when nothing was given
/// and standard input is a terminal; for an empty text, for invalid UTF-8, beyond 64 MiB;
/// kCancelled when Ctrl-C ended the reading.
absl::StatusOr<std::string> ReadPrompt(const std::optional<std::string>& given,
                                       const Console& console);

/// Errors: kInvalidArgument for an empty text, or with the place for invalid UTF-8. Pure.
absl::Status CheckPrompt(const std::string& text);

}  // namespace stoker::cli
