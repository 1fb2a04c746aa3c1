#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/console.h"

namespace stoker::cli {

/// Bytes that a prompt, or a line of a chat, may have.
inline constexpr std::size_t kLongestInput = std::size_t{64} << 20;

/// The text of -p: `given` itself, or all of standard input where it is "-" or missing. A newline
/// at the end of the input is not part of the text. Errors: kInvalidArgument when nothing was given
/// and standard input is a terminal; for an empty text, for invalid UTF-8, beyond kLongestInput;
/// kCancelled when Ctrl-C ended the reading.
absl::StatusOr<std::string> ReadPrompt(const std::optional<std::string>& given,
                                       const Console& console);

/// Errors: kInvalidArgument for an empty text, or with the place for invalid UTF-8. Pure.
absl::Status CheckPrompt(const std::string& text);

}  // namespace stoker::cli
