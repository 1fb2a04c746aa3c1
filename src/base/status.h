#pragma once

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"

/// Returns from the calling function when `expr`, an absl::Status, is not OK.
#define STOKER_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status stoker_status_ = (expr); !stoker_status_.ok()) return stoker_status_; \
  } while (false)

#define STOKER_CONCAT_INNER_(a, b) a##b
#define STOKER_CONCAT_(a, b) STOKER_CONCAT_INNER_(a, b)

/// Evaluates `expr`, an absl::StatusOr<T>; assigns its value to `lhs` or returns its error.
#define STOKER_ASSIGN_OR_RETURN(lhs, expr) \
  STOKER_ASSIGN_OR_RETURN_(STOKER_CONCAT_(stoker_or_, __LINE__), lhs, expr)
#define STOKER_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)

namespace stoker {

/// The message of a status as a std::string_view (Debian's Abseil has a string_view of its own).
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

/// Errors with a fmt-formatted message: InvalidArgument("{}: {} rows, not {}", name, rows, wanted).
/// The message is one line that says what, where, and what to do.
template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return absl::NotFoundError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return absl::ResourceExhaustedError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnavailableError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status Unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnimplementedError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status DataLoss(fmt::format_string<Args...> format, Args&&... args) {
  return absl::DataLossError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status Cancelled(fmt::format_string<Args...> format, Args&&... args) {
  return absl::CancelledError(fmt::format(format, std::forward<Args>(args)...));
}

/// Puts "where: " before the message of a failed status; an OK status passes through.
inline absl::Status At(std::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", where, Message(status)));
}

}  // namespace stoker
