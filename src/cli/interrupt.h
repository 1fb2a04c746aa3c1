#pragma once

#include <atomic>

#include "cli/console.h"

namespace stoker::cli {

/// Exit code after Ctrl-C, as shells expect: 128 + SIGINT.
inline constexpr int kInterruptedExitCode = 130;

/// From now on Ctrl-C sets a flag instead of ending the program, and ends it at once, with
/// kInterruptedExitCode, when pressed again before anyone took note of the flag.
void CatchInterrupts(const Console& console);

/// How many presses that nobody took note of end the program at once: 2 unless set.
void SetPatience(int presses);

/// Set once Ctrl-C has been pressed; to hand to what should stop.
const std::atomic<bool>& InterruptFlag();

/// Whether Ctrl-C has been pressed since the last call; clears the flag.
bool TakeInterrupt();

}  // namespace stoker::cli
