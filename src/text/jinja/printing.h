#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/origin_text.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// str(value): what {{ value }} prints. Strings keep the origin of every character; numbers, None
/// and booleans count as the template's; the punctuation of containers as data.
OriginText ToText(Runtime& runtime, const Value& value);
/// repr(value)
OriginText ToRepr(Runtime& runtime, const Value& value);
/// The value as a string value: itself if it is one.
Value ToStringValue(Runtime& runtime, const Value& value);
/// Python's repr of a float: the shortest digits that read back the same.
std::string FloatRepr(double value);
/// HTML-escapes & < > ' " as markupsafe does.
OriginText EscapeHtml(Runtime& runtime, const OriginText& text);

struct JsonStyle {
  std::optional<std::string> indent;  ///< of one level; none: all in one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};
/// json.dumps(value). Text from strings keeps its origin, the rest counts as data.
OriginText ToJson(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace stoker::text::jinja
