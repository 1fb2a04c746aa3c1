#pragma once

#include <cstddef>

namespace stoker {

/// a / b, rounded up.
constexpr std::size_t DivCeil(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

}  // namespace stoker
