#pragma once

#include <cstddef>
#include <span>

namespace stoker::sys {

/// Lets a process survive a mapped file that shrinks, or whose disk fails, while it is read.
/// Reading such a mapping raises SIGBUS, which would end the process. Where a guard covers it, the
/// mapping reads as zeros from the failing page on, and failed() says so: whoever has read from it
/// asks before the result is used.
///
/// The first guard installs a handler of SIGBUS; faults outside guarded memory go to the handler
/// that was there before. failed() may be called from any thread.
class MappingGuard {
 public:
  MappingGuard() = default;
  /// Guards `mapping`, which starts at a page and stays mapped as long as the guard lives.
  explicit MappingGuard(std::span<const std::byte> mapping);
  ~MappingGuard();
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&& other) noexcept;

  [[nodiscard]] bool failed() const;

 private:
  struct Range;
  struct Ranges;
  Range* range_ = nullptr;
};

}  // namespace stoker::sys
