#pragma once

#include <cstdint>
#include <string>

namespace stoker {

/// "24.77 MB": three to four significant digits in decimal units (kB, MB, GB, TB).
std::string FormatBytes(std::uint64_t bytes);

/// "1.03 T", "32.6 B", "15.2 M": a count in the units that model cards use.
std::string FormatCount(std::uint64_t count);

}  // namespace stoker
