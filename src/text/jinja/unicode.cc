#include "text/jinja/unicode.h"

#include <utf8proc.h>

namespace stoker::text::jinja {
namespace {

// Where Python keeps bytes that are not text (PEP 383, "surrogateescape").
constexpr char32_t kByteEscape = 0xDC00;

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

CodePoint CodePointAt(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                       static_cast<utf8proc_ssize_t>(text.size() - at), &value);
  if (bytes <= 0) return {kByteEscape + first, 1};
  return {static_cast<char32_t>(value), static_cast<std::size_t>(bytes)};
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

bool IsSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  if (c == 0x85) return true;
  const utf8proc_category_t category = Category(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsAlpha(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_ND;
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
