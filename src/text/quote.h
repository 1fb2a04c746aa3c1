#pragma once

#include <string>
#include <string_view>

namespace stoker::text {

/// `text` in quotes for a one-line message: control characters and bytes that are no UTF-8 as
/// \xNN, cut after 40 bytes.
std::string Quote(std::string_view text);

}  // namespace stoker::text
