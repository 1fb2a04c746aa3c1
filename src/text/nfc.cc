#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

int CombiningClass(utf8proc_int32_t c) {
  return utf8proc_get_property(c)->combining_class;
}

// Every character of `text` as its canonical decomposition.
absl::StatusOr<std::vector<utf8proc_int32_t>> Decompose(std::string_view text) {
  constexpr std::size_t kLongest = 16;  // four in Unicode 15
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size() + 1);
  while (!text.empty()) {
    const Utf8Unit unit = FirstUtf8Unit(text);
    text.remove_prefix(unit.bytes);
    utf8proc_int32_t parts[kLongest];
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(unit.code_point), parts, kLongest, kCompose, &boundary);
    if (count < 0 || std::cmp_greater(count, kLongest)) {
      return InvalidArgument("text cannot be normalized: {}", utf8proc_errmsg(count));
    }
    characters.insert(characters.end(), parts, parts + count);
  }
  return characters;
}

// The canonical order of combining marks. utf8proc's own takes time quadratic in their number.
void OrderMarks(std::vector<utf8proc_int32_t>& characters) {
  const auto is_mark = [](utf8proc_int32_t c) { return CombiningClass(c) != 0; };
  for (auto end = characters.begin(); end != characters.end();) {
    const auto begin = std::find_if(end, characters.end(), is_mark);
    end = std::find_if_not(begin, characters.end(), is_mark);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return CombiningClass(a) < CombiningClass(b);
    });
  }
}

}  // namespace

bool IsSurelyNfc(std::string_view text) {
  // U+0300, the first combining mark, is CC 80; everything before it stays as it is in NFC.
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

absl::StatusOr<std::string> ToNfc(std::string_view text) {
  STOKER_ASSIGN_OR_RETURN(std::vector<utf8proc_int32_t> characters, Decompose(text));
  OrderMarks(characters);
  const auto length = static_cast<utf8proc_ssize_t>(characters.size());
  characters.push_back(0);  // room for the byte 0 that is put after the text
  const utf8proc_ssize_t bytes = utf8proc_reencode(characters.data(), length, kCompose);
  if (bytes < 0) return InvalidArgument("text cannot be normalized: {}", utf8proc_errmsg(bytes));
  return std::string(reinterpret_cast<const char*>(characters.data()),
                     static_cast<std::size_t>(bytes));
}

}  // namespace stoker::text
