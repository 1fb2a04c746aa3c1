#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stoker {

/// "24.77 MB": three to four significant digits in decimal units (kB, MB, GB, TB).
std::string FormatBytes(std::uint64_t bytes);

/// "1.03 T", "32.6 B", "15.2 M": a count in the units that model cards use.
std::string FormatCount(std::uint64_t count);

/// Reads "5GiB", "512 MB", "1.5g", "4096" (bytes). Decimal units are powers of 1000, binary units
/// (KiB, MiB, …) powers of 1024; a bare letter (k, m, g, t) is binary, as in other tools.
/// Errors: kInvalidArgument, naming what was read and an example of what is accepted.
absl::StatusOr<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace stoker
