#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

/// What a text that nobody vouches for begins with.
struct TextUnit {
  enum class Kind : std::uint8_t {
    kCharacter,
    kControl,  ///< U+0000 to U+001F, U+007F to U+009F: what drives a terminal
    kInvalid,  ///< a byte that begins no UTF-8 character
  };
  Kind kind;
  std::size_t bytes;
};

/// Looks at the start of `text`, which must not be empty. Pure.
TextUnit FirstTextUnit(std::string_view text);

/// `text` fit for one line of a terminal or a log: control characters and bytes that are no UTF-8
/// become \xNN, so that neither a file's name nor a message can break a line or drive the terminal;
/// beyond 2000 bytes the middle gives way to " ... ". Pure.
std::string OneLine(std::string_view text);

}  // namespace stoker
