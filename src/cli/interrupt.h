#pragma once

#include <atomic>

#include "cli/console.h"

namespace stoker::cli {

/// From now on Ctrl-C, SIGTERM and SIGHUP set a flag instead of ending the program. A second one
/// before anyone took note of the flag ends it at once, with InterruptExitCode(); where that takes
/// long, a line on the terminal says so. Signals that the program's parent ignores stay ignored (as
/// under nohup). Whatever signal ends the program, the terminal is left as it was found.
void CatchInterrupts(const Console& console);

/// Exit code after an interrupt, as shells expect: 128 + the signal that came last.
int InterruptExitCode();

/// How many interrupts that nobody took note of end the program at once: 2 unless set.
void SetPatience(int presses);

/// Set once an interrupt has come; to hand to what should stop.
const std::atomic<bool>& InterruptFlag();

/// Waits until `fd` can be read, or is at its end. False where an interrupt came first, be it
/// before the call: none is lost between looking at the flag and sleeping. Threads other than the
/// caller's must block signals, as a ThreadPool's do.
bool WaitForInput(int fd);

/// Whether an interrupt has come since the last call; clears the flag.
bool TakeInterrupt();

/// Whether SIGTERM or SIGHUP has come: they are to end the program, whereas Ctrl-C is to end what
/// it is doing.
bool IsToldToLeave();

}  // namespace stoker::cli
