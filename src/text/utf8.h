#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::text {

/// What the first bytes of a text are, by the Unicode Standard's table 3-7 (well-formed UTF-8).
struct Utf8Unit {
  enum class Kind : std::uint8_t {
    kCharacter,  ///< one whole character of `bytes` bytes
    kTruncated,  ///< the text ends inside a character; all `bytes` bytes of it are sound so far
    kInvalid,    ///< `bytes` bytes that begin no character: one U+FFFD stands for all of them
  };
  Kind kind;
  std::uint8_t bytes;   ///< 1 … 4
  char32_t code_point;  ///< of a character; otherwise 0
};

/// Looks at the start of `text`, which must not be empty. Ill-formed bytes are grouped as maximal
/// subparts (Unicode Standard 3.9, as Python's and Rust's lossy decoders group them).
Utf8Unit FirstUtf8Unit(std::string_view text);

/// The offset of the first byte that is not part of a whole UTF-8 character; none in valid text.
std::optional<std::size_t> FindInvalidUtf8(std::string_view text);

/// Appends `text` to `out`, U+FFFD for each ill-formed group. A truncated last character is left
/// out; returns how many bytes at the end of `text` it has.
std::size_t AppendLossyUtf8(std::string_view text, std::string& out);

/// Unicode's property White_Space.
bool IsWhiteSpace(char32_t c);
/// Python's str.isspace: White_Space and the four separators of ASCII.
bool IsPythonSpace(char32_t c);

/// U+FFFD, what a reader sees in place of bytes that are no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace stoker::text
