#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace stoker::cli {

/// Reads a file, a pipe or a terminal so that Ctrl-C breaks off the wait at any moment. For one
/// thread.
class StandardInput {
 public:
  explicit StandardInput(int fd = STDIN_FILENO);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  /// Waits for input and puts what there is into `bytes`. Gives the count, 0 at the end. Cancelled
  /// where Ctrl-C came first (its flag stays set: see TakeInterrupt); Unavailable where the input
  /// cannot be read.
  absl::StatusOr<std::size_t> Read(std::span<char> bytes);

 private:
  int fd_;
  int own_fd_ = -1;
};

}  // namespace stoker::cli
