#include "base/units.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "fmt/format.h"

namespace stoker {
namespace {

std::string FormatScaled(double value, const std::array<std::string_view, 5>& units) {
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}{}", value, units[unit]);
  return fmt::format("{:.{}f}{}", value, value < 100.0 ? 2 : 1, units[unit]);
}

}  // namespace

std::string FormatBytes(std::uint64_t bytes) {
  return FormatScaled(static_cast<double>(bytes), {" B", " kB", " MB", " GB", " TB"});
}

std::string FormatCount(std::uint64_t count) {
  return FormatScaled(static_cast<double>(count), {"", " K", " M", " B", " T"});
}

}  // namespace stoker
