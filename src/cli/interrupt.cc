#include "cli/interrupt.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace stoker::cli {
namespace {

// A signal handler can reach nothing but globals, and may use lock-free atomics only.
std::atomic<bool> interrupted{false};
std::atomic<int> presses_seen{0};
std::atomic<int> patience{2};
std::atomic<bool> resets_colour{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  if (presses_seen.fetch_add(1) + 1 >= patience.load()) {
    // An answer may stand half printed and dimmed; nothing can be done about a failed write.
    if (resets_colour.load()) {
      [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, "\x1b[0m\n", 5);
    }
    _exit(kInterruptedExitCode);
  }
  interrupted.store(true);
}

}  // namespace

void CatchInterrupts(const Console& console) {
  resets_colour.store(console.colour);
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  // Without SA_RESTART, so that Ctrl-C also wakes whoever waits for a line of input.
  sigaction(SIGINT, &action, nullptr);
}

void SetPatience(int presses) {
  patience.store(presses);
}

const std::atomic<bool>& InterruptFlag() {
  return interrupted;
}

bool WaitForInput(int fd) {
  sigset_t interrupt;
  sigset_t before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
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
  presses_seen.store(0);
  return interrupted.exchange(false);
}

}  // namespace stoker::cli
