#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "text/jinja/origin_text.h"
#include "text/jinja/runtime.h"

namespace stoker::text::jinja {

// What filters and methods of strings share. Characters keep their origin throughout.

enum class Side : std::uint8_t { kLeft, kRight, kBoth };
/// str.strip: removes white space, or any of the characters of `*characters`.
OriginText Strip(Runtime& runtime, const OriginText& text, Side side, const OriginText* characters);

enum class Case : std::uint8_t { kUpper, kLower, kCapitalized, kTitle };
/// str.upper, lower, capitalize and title.
OriginText ChangeCase(const OriginText& text, Case to);

/// Counts the steps of looking for all places of `wanted` in `text` with FindText or, if
/// `backwards`, with FindLastText.
void StepSearch(Runtime& runtime, std::string_view text, std::string_view wanted,
                bool backwards = false);
/// text.find(wanted, from), but in time linear in both.
std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from = 0);

/// str.replace; a negative count replaces all.
OriginText Replace(Runtime& runtime, const OriginText& text, const OriginText& old,
                   const OriginText& with, std::int64_t count);

/// str.splitlines, also at the line ends of Unicode: calls `visit(begin, end, next)` for each line,
/// which is bytes [begin, end) and with its line end [begin, next).
void ForEachLine(const OriginText& text,
                 absl::FunctionRef<void(std::size_t, std::size_t, std::size_t)> visit);

/// Fills a text up to `width` characters with `fill`, which is one character.
enum class Align : std::uint8_t { kLeft, kCentre, kRight };
OriginText Pad(Runtime& runtime, const OriginText& text, std::int64_t width, Align align,
               const OriginText& fill);

}  // namespace stoker::text::jinja
