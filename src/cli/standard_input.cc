#include "cli/standard_input.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"
#include "cli/interrupt.h"

namespace stoker::cli {
namespace {

// A terminal drops what has been typed when Ctrl-C comes, also between the wait and the read, which
// then would sleep. Opened once more, it can be read without sleeping, and without a change to how
// the other programs on it read.
int OpenWithoutSleep(int terminal) {
  char name[256];
  if (ttyname_r(terminal, name, sizeof(name)) != 0) return -1;
  return open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

StandardInput::StandardInput(int fd) : fd_(fd) {
  if (isatty(fd) == 1) own_fd_ = OpenWithoutSleep(fd);
  if (own_fd_ >= 0) fd_ = own_fd_;
}

StandardInput::~StandardInput() {
  if (own_fd_ >= 0) close(own_fd_);
}

absl::StatusOr<std::size_t> StandardInput::Read(std::span<char> bytes) {
  for (;;) {
    if (!WaitForInput(fd_)) return Cancelled("stopped while reading standard input");
    const ssize_t count = read(fd_, bytes.data(), bytes.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) {
      return Unavailable("cannot read standard input: {}", std::strerror(errno));
    }
  }
}

}  // namespace stoker::cli
