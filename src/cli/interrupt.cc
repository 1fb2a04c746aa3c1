#include "cli/interrupt.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace stoker::cli {
namespace {

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};
// An interrupt that nobody took note of for so long deserves a word.
constexpr unsigned kSilenceSeconds = 2;

// A signal handler can reach nothing but globals, and may use lock-free atomics only.
std::atomic<bool> interrupted{false};
std::atomic<bool> told_to_leave{false};
std::atomic<bool> told_how_to_end{false};
std::atomic<int> last_signal{SIGINT};
std::atomic<int> presses_seen{0};
std::atomic<int> patience{2};
std::atomic<bool> resets_colour{false};
std::atomic<bool> tells_on_terminal{false};
std::atomic<bool> restores_terminal{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
termios terminal_as_found;  // written once, before any handler is in place

// Nothing can be done about a failed write.
void WriteRaw(int fd, std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
}

// An answer may stand half printed and dimmed, and the line editor may hold the terminal.
void LeaveTerminalAsFound() {
  if (resets_colour.load()) WriteRaw(STDOUT_FILENO, "\x1b[0m\n");
  // In the background the terminal belongs to someone else by now.
  const bool ours = restores_terminal.load() && tcgetpgrp(STDIN_FILENO) == getpgrp();
  if (ours) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_as_found);
}

void OnInterrupt(int signal_number) {
  last_signal.store(signal_number);
  if (presses_seen.fetch_add(1) + 1 >= patience.load() || told_how_to_end.load()) {
    LeaveTerminalAsFound();
    _exit(InterruptExitCode());
  }
  if (signal_number != SIGINT) told_to_leave.store(true);
  interrupted.store(true);
  if (tells_on_terminal.load()) alarm(kSilenceSeconds);
}

void OnSilence(int) {
  if (!interrupted.load()) return;
  told_how_to_end.store(true);
  const int saved = errno;
  WriteRaw(STDERR_FILENO, "\nstoker: still stopping; press Ctrl-C again to end at once\n");
  errno = saved;
}

void OnQuit(int signal_number) {
  LeaveTerminalAsFound();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void Handle(int signal_number, void (*handler)(int), int flags) {
  struct sigaction before = {};
  if (sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void CatchInterrupts(const Console& console) {
  told_to_leave.store(false);
  resets_colour.store(console.colour);
  tells_on_terminal.store(console.error_is_terminal);
  restores_terminal.store(console.input_is_terminal &&
                          tcgetattr(STDIN_FILENO, &terminal_as_found) == 0);
  // Without SA_RESTART, so that an interrupt also wakes whoever waits for a line of input.
  for (const int signal_number : kInterrupts) Handle(signal_number, OnInterrupt, 0);
  Handle(SIGALRM, OnSilence, SA_RESTART);
  Handle(SIGQUIT, OnQuit, 0);
}

int InterruptExitCode() {
  return 128 + last_signal.load();
}

void SetPatience(int presses) {
  patience.store(presses);
}

const std::atomic<bool>& InterruptFlag() {
  return interrupted;
}

bool WaitForInput(int fd) {
  sigset_t interrupts;
  sigset_t before;
  sigemptyset(&interrupts);
  for (const int signal_number : kInterrupts) sigaddset(&interrupts, signal_number);
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  while (!interrupted.load()) {
    // ppoll lets the signal in and sleeps as one step.
    pollfd input = {.fd = fd, .events = POLLIN, .revents = 0};
    if (ppoll(&input, 1, nullptr, &before) >= 0 || errno != EINTR) break;
  }
  const bool came_first = interrupted.load();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !came_first;
}

bool TakeInterrupt() {
  alarm(0);
  presses_seen.store(0);
  told_how_to_end.store(false);
  return interrupted.exchange(false);
}

bool IsToldToLeave() {
  return told_to_leave.load();
}

}  // namespace stoker::cli
