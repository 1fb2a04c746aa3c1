#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}  // namespace CLI

namespace stoker::cli {

/// The words of a command line as the parser is to take them. Each option that takes a value gets
/// the one that it was given: "--prompt=" an empty one, which the parser by itself would not see.
/// Errors: kInvalidArgument where an option stands in the place of a value, so that a value that
/// was forgotten does not swallow it; "--prompt=--json" means it. Pure.
absl::StatusOr<std::vector<std::string>> GiveValues(const CLI::App& root,
                                                    const std::vector<std::string>& words);

}  // namespace stoker::cli
