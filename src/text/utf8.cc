#include "text/utf8.h"

#include <cstring>

#include "base/check.h"

namespace stoker::text {
namespace {

std::uint8_t ByteAt(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

// The bytes of a character that starts with `lead`, and the range its second byte must lie in.
struct Lead {
  std::uint8_t length = 0;  // 0: no character starts so
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
};

Lead LeadOf(std::uint8_t lead) {
  if (lead < 0x80) return {.length = 1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {.length = 2};
  if (lead == 0xE0) return {.length = 3, .second_min = 0xA0};  // no overlong forms
  if (lead == 0xED) return {.length = 3, .second_max = 0x9F};  // no surrogates
  if (lead < 0xF0) return {.length = 3};
  if (lead == 0xF0) return {.length = 4, .second_min = 0x90};
  if (lead < 0xF4) return {.length = 4};
  if (lead == 0xF4) return {.length = 4, .second_max = 0x8F};  // nothing above U+10FFFF
  return {};
}

// The number of ASCII bytes that `text` starts with.
std::size_t AsciiPrefix(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (i < text.size() && ByteAt(text, i) < 0x80) ++i;
  return i;
}

}  // namespace

Utf8Unit FirstUtf8Unit(std::string_view text) {
  using Kind = Utf8Unit::Kind;
  STOKER_DCHECK(!text.empty());
  const std::uint8_t first = ByteAt(text, 0);
  const Lead lead = LeadOf(first);
  if (lead.length == 0) return {Kind::kInvalid, 1, 0};
  if (lead.length == 1) return {Kind::kCharacter, 1, first};
  char32_t code_point = first & (0x7FU >> lead.length);
  for (std::uint8_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Kind::kTruncated, i, 0};
    const std::uint8_t byte = ByteAt(text, i);
    const std::uint8_t min = i == 1 ? lead.second_min : 0x80;
    const std::uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {Kind::kInvalid, i, 0};
    code_point = (code_point << 6U) | (byte & 0x3FU);
  }
  return {Kind::kCharacter, lead.length, code_point};
}

std::optional<std::size_t> FindInvalidUtf8(std::string_view text) {
  std::size_t offset = 0;
  while (true) {
    offset += AsciiPrefix(text.substr(offset));
    if (offset == text.size()) return std::nullopt;
    const Utf8Unit unit = FirstUtf8Unit(text.substr(offset));
    if (unit.kind != Utf8Unit::Kind::kCharacter) return offset;
    offset += unit.bytes;
  }
}

bool IsWhiteSpace(char32_t c) {
  if (c < 0x80) return c == 0x20 || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsPythonSpace(char32_t c) {
  return IsWhiteSpace(c) || (c >= 0x1C && c <= 0x1F);
}

std::size_t AppendLossyUtf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const Utf8Unit unit = FirstUtf8Unit(text);
    if (unit.kind == Utf8Unit::Kind::kTruncated) return unit.bytes;
    out += unit.kind == Utf8Unit::Kind::kCharacter ? text.substr(0, unit.bytes)
                                                   : kReplacementCharacter;
    text.remove_prefix(unit.bytes);
  }
  return 0;
}

}  // namespace stoker::text
