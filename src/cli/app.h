#pragma once

#include <string_view>

namespace stoker::cli {

/// Exit codes: 0, kFailure, kUsage, and InterruptExitCode() of interrupt.h.
inline constexpr int kFailureExitCode = 1;
inline constexpr int kUsageExitCode = 2;

/// Groups of commands, such as "bench", and what --help says of them.
std::string_view GroupSummary(std::string_view group);

/// The program: parses the command line, runs the command, prints its error in one line, returns
/// the exit code.
int RunApp(int argc, const char* const* argv);

}  // namespace stoker::cli
