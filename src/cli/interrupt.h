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

/// Waits until `fd` can be read, or is at its end. False where Ctrl-C came first, be it before the
/// call: no press is lost between looking at the flag and sleeping. Threads other than the caller's
/// must block SIGINT, as a ThreadPool's do.
bool WaitForInput(int fd);

/// Whether Ctrl-C has been pressed since the last call; clears the flag.
bool TakeInterrupt();

}  // namespace stoker::cli
