#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace stoker {

/// Sets the level (trace, debug, info, warn, error, off) of the process's logger, which writes to
/// standard error, a message a line (OneLine of printable.h). Libraries log through spdlog; only
/// programs call this, once, at start. Errors: kInvalidArgument for an unknown level, with a
/// suggestion.
absl::Status SetUpLogging(std::string_view level);

}  // namespace stoker
