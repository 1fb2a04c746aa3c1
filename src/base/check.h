#pragma once

namespace stoker {

/// Reports a broken promise between two pieces of our own code and aborts. Never for input.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace stoker

/// Aborts, naming the place, when a condition that only a programmer can break does not hold.
#define STOKER_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::stoker::CheckFailed(#condition, __FILE__, __LINE__))

/// As STOKER_CHECK in builds without NDEBUG; nothing in release builds.
#ifdef NDEBUG
#define STOKER_DCHECK(condition) static_cast<void>(0)
#else
#define STOKER_DCHECK(condition) STOKER_CHECK(condition)
#endif
