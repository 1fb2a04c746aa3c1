#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace stoker::cli {

/// Every command, in the order of --help.
std::vector<std::unique_ptr<Command>> AllCommands();

}  // namespace stoker::cli
