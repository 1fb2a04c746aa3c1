#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stoker::text {

/// `text` for a one-line message: control characters and bytes that are no UTF-8 as \xNN, cut after
/// `longest_bytes`, with an ellipsis.
std::string Printable(std::string_view text, std::size_t longest_bytes);

/// A name in quotes for a one-line message, cut after 40 bytes.
std::string Quote(std::string_view text);

}  // namespace stoker::text
