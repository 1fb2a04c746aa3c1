#include "text/jinja/text_functions.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "text/jinja/failure.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace stoker::text::jinja {
namespace {

// The characters of a text, ascending.
std::vector<char32_t> SortedCharacters(Runtime& runtime, const OriginText& text) {
  runtime.StepBytes(8 * text.size());
  runtime.heap().Require(2 * sizeof(char32_t) * text.size());
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), at);
    characters.push_back(c.value);
    at += c.bytes;
  }
  std::sort(characters.begin(), characters.end());
  return characters;
}

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool IsCased(char32_t c) {
  return IsUpper(c) || IsLower(c) || ToUpper(c) != c || ToLower(c) != c;
}

void AppendUpper(char32_t c, std::string& out) {
  constexpr char32_t kSharpS = 0xDF;  // the one common letter whose capital is two letters
  if (c == kSharpS) {
    out += "SS";
  } else {
    AppendCodePoint(ToUpper(c), out);
  }
}

}  // namespace

OriginText Strip(Runtime& runtime, const OriginText& text, Side side,
                 const OriginText* characters) {
  runtime.StepBytes(8 * text.size());
  std::vector<char32_t> stripped;
  if (characters != nullptr) stripped = SortedCharacters(runtime, *characters);
  const auto is_stripped = [&](const CodePoint& c) {
    return characters == nullptr ? IsPythonSpace(c.value)
                                 : std::binary_search(stripped.begin(), stripped.end(), c.value);
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (side != Side::kRight && begin < end) {
    const CodePoint c = CodePointAt(text.bytes(), begin);
    if (!is_stripped(c)) break;
    begin += c.bytes;
  }
  while (side != Side::kLeft && begin < end) {
    const CodePoint c = CodePointBefore(text.bytes(), end);
    if (!is_stripped(c)) break;
    end -= c.bytes;
  }
  return text.Slice(begin, std::max(begin, end));
}

OriginText ChangeCase(const OriginText& text, Case to) {
  OriginText out;
  bool in_word = false;
  std::string changed;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), at);
    const bool upper = to == Case::kUpper || (to == Case::kCapitalized && at == 0) ||
                       (to == Case::kTitle && !in_word);
    changed.clear();
    if (c.bytes == 1 && c.value >= 0x80) {  // not UTF-8
      changed = text.bytes()[at];
    } else if (upper) {
      AppendUpper(c.value, changed);
    } else {
      AppendCodePoint(ToLower(c.value), changed);
    }
    out.Append(changed, text.TrustedAt(at));
    in_word = IsCased(c.value);
    at += c.bytes;
  }
  return out;
}

void StepSearch(Runtime& runtime, std::string_view text, std::string_view wanted, bool backwards) {
  // memmem compares at most so many bytes at each place, std::string::rfind all of `wanted`.
  constexpr std::size_t kMostCompared = 256;
  const std::size_t compared =
      std::max<std::size_t>(backwards ? wanted.size() : std::min(wanted.size(), kMostCompared), 1);
  const std::size_t most = std::numeric_limits<std::size_t>::max() / 64;
  runtime.StepBytes(text.size() > most / compared ? most : text.size() * compared);
  runtime.StepBytes(wanted.size());
}

std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* const found =
      memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

OriginText Replace(Runtime& runtime, const OriginText& text, const OriginText& old,
                   const OriginText& with, std::int64_t count) {
  OriginText out;
  std::size_t copied = 0;
  std::size_t at = 0;
  StepSearch(runtime, text.bytes(), old.bytes());
  while (count != 0) {
    const std::size_t found = FindText(text.bytes(), old.bytes(), at);
    if (found == std::string::npos) break;
    runtime.heap().Charge(with.memory_bytes() + sizeof(std::size_t));
    runtime.StepBytes(with.size());
    out.AppendSlice(text, copied, found);
    out.Append(with);
    copied = found + old.size();
    at = copied;
    --count;
    if (old.empty()) {  // between any two characters
      if (at == text.size()) break;
      at += CodePointAt(text.bytes(), at).bytes;
    }
  }
  out.AppendSlice(text, copied, text.size());
  return out;
}

void ForEachLine(const OriginText& text,
                 absl::FunctionRef<void(std::size_t, std::size_t, std::size_t)> visit) {
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), at);
    std::size_t next = at + c.bytes;
    if (IsLineEnd(c.value)) {
      if (c.value == '\r' && next < text.size() && text.bytes()[next] == '\n') ++next;
      visit(start, at, next);
      start = next;
    }
    at = next;
  }
  if (start < text.size()) visit(start, text.size(), text.size());
}

OriginText Pad(Runtime& runtime, const OriginText& text, std::int64_t width, Align align,
               const OriginText& fill) {
  const auto length = static_cast<std::int64_t>(CountCodePoints(text.bytes()));
  if (width <= length) return text;
  const auto padding = static_cast<std::size_t>(width - length);
  if (padding > std::numeric_limits<std::size_t>::max() / fill.size()) {
    Fail("a width of {} is too large", width);
  }
  runtime.heap().Charge(padding * fill.size() + 2 * sizeof(std::size_t));
  std::size_t before = 0;
  if (align == Align::kRight) before = padding;
  // Python puts the odd one in front when the width is odd too.
  if (align == Align::kCentre)
    before = padding / 2 + (padding & static_cast<std::size_t>(width) & 1);
  OriginText out;
  for (std::size_t i = 0; i < before; ++i) out.Append(fill);
  out.Append(text);
  for (std::size_t i = before; i < padding; ++i) out.Append(fill);
  return out;
}

}  // namespace stoker::text::jinja
