#include "text/jinja/civil_time.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace stoker::text::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

std::chrono::sys_days Date(const CivilTime& time) {
  return std::chrono::year(time.year) / time.month / time.day;
}

std::string_view DayName(const CivilTime& time) {
  return kDays[std::chrono::weekday(Date(time)).c_encoding()];
}

std::string_view MonthName(const CivilTime& time) {
  return kMonths[static_cast<std::size_t>(time.month - 1)];
}

int DayOfYear(const CivilTime& time) {
  const CivilTime first{.year = time.year};
  return static_cast<int>((Date(time) - Date(first)).count()) + 1;
}

// The directives that print a number, padded to `width` with `pad`.
struct Number {
  int value;
  int width = 2;
  char pad = '0';
};

std::optional<Number> NumericDirective(char directive, const CivilTime& time) {
  const int hour12 = time.hour % 12 == 0 ? 12 : time.hour % 12;
  switch (directive) {
    case 'd':
      return Number{time.day};
    case 'e':
      return Number{time.day, 2, ' '};
    case 'H':
      return Number{time.hour};
    case 'I':
      return Number{hour12};
    case 'j':
      return Number{DayOfYear(time), 3};
    case 'm':
      return Number{time.month};
    case 'M':
      return Number{time.minute};
    case 'S':
      return Number{time.second};
    case 'w':
      return Number{static_cast<int>(std::chrono::weekday(Date(time)).c_encoding()), 1};
    case 'y':
      return Number{time.year % 100};
    case 'Y':
      return Number{time.year, 1};
    default:
      return std::nullopt;
  }
}

std::optional<std::string> TextDirective(char directive, const CivilTime& time) {
  switch (directive) {
    case 'a':
      return std::string(DayName(time).substr(0, 3));
    case 'A':
      return std::string(DayName(time));
    case 'b':
    case 'h':
      return std::string(MonthName(time).substr(0, 3));
    case 'B':
      return std::string(MonthName(time));
    case 'c':
      return FormatTime("%a %b %e %H:%M:%S %Y", time);
    case 'D':
    case 'x':
      return FormatTime("%m/%d/%y", time);
    case 'F':
      return FormatTime("%Y-%m-%d", time);
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'T':
    case 'X':
      return FormatTime("%H:%M:%S", time);
    case 'Z':
    case 'z':
      return "";  // a time without a zone
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string FormatTime(std::string_view format, const CivilTime& time) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::string_view rest = format.substr(at);
    const bool unpadded = rest.size() > 2 && rest[1] == '-';
    const std::size_t length = unpadded ? 3 : 2;
    if (rest[0] == '%' && rest.size() >= length) {
      const char directive = rest[length - 1];
      if (const auto number = NumericDirective(directive, time)) {
        std::string digits = std::to_string(number->value);
        while (!unpadded && std::cmp_less(digits.size(), number->width)) {
          digits.insert(digits.begin(), number->pad);
        }
        out += digits;
        at += length - 1;
        continue;
      }
      if (const auto text = TextDirective(directive, time)) {
        out += *text;
        at += length - 1;
        continue;
      }
    }
    out += rest[0];
  }
  return out;
}

}  // namespace stoker::text::jinja
