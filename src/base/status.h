#pragma once

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

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

/// Puts "where: " before the message of a failed status; an OK status passes through.
inline absl::Status At(std::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace stoker
