#pragma once

#include <string>
#include <string_view>

namespace stoker::text::jinja {

/// A date and time of day as a clock on the wall shows it. Its fields are in the usual ranges.
struct CivilTime {
  int year = 1970;
  int month = 1;  ///< 1 … 12
  int day = 1;    ///< 1 … 31
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Python's strftime for the directives that chat templates use, in the C locale:
/// %a %A %b %B %c %d %D %e %F %H %I %j %m %M %p %S %T %w %x %X %y %Y %Z %z %%, and `-` after the
/// percent sign for no padding. Anything else is copied as it is.
std::string FormatTime(std::string_view format, const CivilTime& time);

}  // namespace stoker::text::jinja
