#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace stoker::text::jinja {

/// Why a template cannot be parsed or rendered. Thrown inside this folder only, where an error can
/// arise in any of some hundred mutually recursive operators; Template turns it into a status.
struct Failure {
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  std::string message;
  int line = 0;  ///< of the template; 0: wherever the renderer is now
};

template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{.message = fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
[[noreturn]] void FailAt(int line, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{.message = fmt::format(format, std::forward<Args>(args)...), .line = line};
}

}  // namespace stoker::text::jinja
