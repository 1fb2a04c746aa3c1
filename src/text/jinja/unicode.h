#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::text::jinja {

/// A code point and how many bytes it takes. Bytes that are not UTF-8 count as one character each,
/// in the range of surrogates where no text can be.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};

/// The code point that starts at `at`, or ends right before `end`.
CodePoint CodePointAt(std::string_view text, std::size_t at);
CodePoint CodePointBefore(std::string_view text, std::size_t end);

/// Appends a code point as UTF-8; surrogates and values beyond Unicode as U+FFFD.
void AppendCodePoint(char32_t value, std::string& out);

[[nodiscard]] bool IsAscii(std::string_view text);
[[nodiscard]] std::size_t CountCodePoints(std::string_view text);
/// Where each code point starts, and at last the end of the text.
std::vector<std::size_t> CodePointOffsets(std::string_view text);

// Python's str.isalpha, isdecimal, … of one code point; upper and lower case are told by the
// general category alone, and change as they do for a single character.
bool IsAlpha(char32_t c);
bool IsDecimal(char32_t c);
bool IsDigit(char32_t c);
bool IsUpper(char32_t c);
bool IsLower(char32_t c);
bool IsPrintable(char32_t c);
char32_t ToUpper(char32_t c);
char32_t ToLower(char32_t c);
/// A letter, digit or underscore: `\w` of a regular expression.
bool IsWord(char32_t c);

}  // namespace stoker::text::jinja
