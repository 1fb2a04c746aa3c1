#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/utf8.h"

namespace stoker::text::jinja {
namespace {

// Where Python keeps bytes that are not text (PEP 383, "surrogateescape").
constexpr char32_t kByteEscape = 0xDC00;

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

CodePoint CodePointAt(std::string_view text, std::size_t at) {
  const Utf8Unit unit = FirstUtf8Unit(text.substr(at));
  if (unit.kind == Utf8Unit::Kind::kCharacter) return {unit.code_point, unit.bytes};
  return {kByteEscape + static_cast<unsigned char>(text[at]), 1};
}

CodePoint CodePointBefore(std::string_view text, std::size_t end) {
  std::size_t start = end - 1;
  while (start > 0 && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) {
    --start;
  }
  const CodePoint found = CodePointAt(text, start);
  if (start + found.bytes == end) return found;
  return CodePointAt(text, end - 1);
}

void AppendCodePoint(char32_t value, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const bool valid = value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  const utf8proc_ssize_t count =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(valid ? value : U'\uFFFD'), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

bool IsAscii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  return any < 0x80;
}

std::size_t CountCodePoints(std::string_view text) {
  if (IsAscii(text)) return text.size();
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += CodePointAt(text, at).bytes) ++count;
  return count;
}

std::vector<std::size_t> CodePointOffsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  offsets.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size(); at += CodePointAt(text, at).bytes) {
    offsets.push_back(at);
  }
  offsets.push_back(text.size());
  return offsets;
}

bool IsAlpha(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_ND;
}
bool IsDigit(char32_t c) {
  // Unicode 15, Numeric_Type=Digit.
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
      {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
      {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
      {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
      {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return IsDecimal(c) ||
         std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}
bool IsUpper(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_LU;
}
bool IsLower(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_LL;
}

bool IsPrintable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7F;
  if (c > 0x10FFFF) return false;
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

char32_t ToUpper(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

char32_t ToLower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

bool IsWord(char32_t c) {
  if (c < 0x80) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  }
  const utf8proc_category_t category = Category(c);
  return IsAlpha(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

}  // namespace stoker::text::jinja
