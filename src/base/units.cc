#include "base/units.h"

#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"

namespace stoker {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

std::string FormatScaled(double value, const std::array<std::string_view, 5>& units) {
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}{}", value, units[unit]);
  return fmt::format("{:.{}f}{}", value, value < 100.0 ? 2 : 1, units[unit]);
}

constexpr double kKi = 1024.0;
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"b", 1},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"k", kKi},
    {"kib", kKi},
    {"m", kKi* kKi},
    {"mib", kKi* kKi},
    {"g", kKi* kKi* kKi},
    {"gib", kKi* kKi* kKi},
    {"t", kKi* kKi* kKi* kKi},
    {"tib", kKi* kKi* kKi* kKi},
};

}  // namespace

std::string FormatBytes(std::uint64_t bytes) {
  return FormatScaled(static_cast<double>(bytes), {" B", " kB", " MB", " GB", " TB"});
}

std::string FormatCount(std::uint64_t count) {
  return FormatScaled(static_cast<double>(count), {"", " K", " M", " B", " T"});
}

absl::StatusOr<std::uint64_t> ParseBytes(std::string_view text) {
  const auto malformed = [&] {
    return InvalidArgument("\"{}\" is not a size; write for example 5GiB, 512MB or 4096", text);
  };
  std::string lower(text);
  absl::RemoveExtraAsciiWhitespace(&lower);
  absl::AsciiStrToLower(&lower);
  const std::size_t digits = std::min(lower.find_first_not_of("0123456789."), lower.size());
  double value = 0;
  if (!absl::SimpleAtod(lower.substr(0, digits), &value)) return malformed();
  std::string suffix = lower.substr(digits);
  absl::StripLeadingAsciiWhitespace(&suffix);
  for (const Unit& unit : kByteUnits) {
    if (unit.name != suffix) continue;
    const double bytes = value * unit.scale;
    if (!(bytes < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
      return malformed();
    }
    return static_cast<std::uint64_t>(std::llround(bytes));
  }
  return malformed();
}

}  // namespace stoker
