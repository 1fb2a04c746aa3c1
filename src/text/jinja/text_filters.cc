#include <algorithm>

#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace stoker::text::jinja {
namespace {

Value ToJsonFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.Bool(0, false);
  style.sort_keys = bound.Bool(3, false);
  if (bound.Has(1)) {
    style.item_separator = ",";
    style.indent =
        bound[1].IsString()
            ? bound[1].bytes()
            : std::string(
                  static_cast<std::size_t>(std::clamp<std::int64_t>(bound.Int(1, 0), 0, 100)), ' ');
  }
  if (bound.Has(2)) {
    const std::vector<Value> separators = Iterate(runtime, bound[2]);
    if (separators.size() != 2 || !separators[0].IsString() || !separators[1].IsString()) {
      Fail("tojson: separators must be two strings");
    }
    style.item_separator = separators[0].bytes();
    style.key_separator = separators[1].bytes();
  }
  runtime.StepBytes(style.indent.value_or("").size() + style.item_separator.size() +
                    style.key_separator.size());
  return runtime.heap().NewText(ToJson(runtime, input, style));
}

// Makes a string of the input and another of it, which stays `safe` if the input was.
template <typename Change>
Value Changed(Runtime& runtime, const Value& input, const Change& change) {
  const Value text = ToStringValue(runtime, input);
  runtime.StepBytes(8 * text.text().size());
  return runtime.heap().NewMarkupLike(text, change(text.text()));
}

Value Trim(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  return Changed(runtime, input, [&](const OriginText& text) {
    return Strip(runtime, text, Side::kBoth, bound.Has(0) ? &bound.Text(0) : nullptr);
  });
}

template <FunctionName name, Case to>
Value CaseFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {});
  return Changed(runtime, input, [](const OriginText& text) { return ChangeCase(text, to); });
}

// Capitals at the start and after white space, dashes and opening brackets: unlike str.title, not
// after an apostrophe.
Value Title(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("title", arguments, {});
  return Changed(runtime, input, [](const OriginText& text) {
    const auto is_boundary = [](char32_t c) {
      return IsPythonSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    };
    OriginText out;
    std::size_t start = 0;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = CodePointAt(text.bytes(), at);
      at += c.bytes;
      const bool ends = at == text.size() ||
                        is_boundary(c.value) != is_boundary(CodePointAt(text.bytes(), at).value);
      if (!ends) continue;
      out.Append(ChangeCase(text.Slice(start, at), Case::kCapitalized));
      start = at;
    }
    return out;
  });
}

Value ReplaceFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const OriginText old = ToText(runtime, bound[0]);
  const OriginText with = ToText(runtime, bound[1]);
  return Changed(runtime, input, [&](const OriginText& text) {
    return Replace(runtime, text, old, with, bound.Int(2, -1));
  });
}

Value String(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return ToStringValue(runtime, input);
}

Value Indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  OriginText indention;
  if (bound.Has(0) && bound[0].IsString()) {
    indention = ToText(runtime, bound[0]);
  } else {
    const std::int64_t width = std::clamp<std::int64_t>(bound.Int(0, 4), 0, 10000);
    indention = OriginText(std::string(static_cast<std::size_t>(width), ' '), true);
  }
  const bool indent_blank = bound.Bool(2, false);
  return Changed(runtime, input, [&](const OriginText& text) {
    OriginText terminated = text;
    terminated.Append("\n", true);
    OriginText out;
    if (bound.Bool(1, false)) out.Append(indention);
    std::optional<bool> trusts_line_end;  // of the line before, if there is one
    ForEachLine(terminated, [&](std::size_t begin, std::size_t end, std::size_t /*next*/) {
      runtime.heap().Charge(end - begin + indention.size() + 1);
      if (trusts_line_end) {
        out.Append("\n", *trusts_line_end);
        if (indent_blank || begin < end) out.Append(indention);
      }
      out.AppendSlice(terminated, begin, end);
      trusts_line_end = terminated.TrustedAt(end);
    });
    return out;
  });
}

Value Center(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  return Changed(runtime, input, [&](const OriginText& text) {
    return Pad(runtime, text, bound.Int(0, 80), Align::kCentre, OriginText(" ", true));
  });
}

Value Escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  if (input.IsString() && input.is_markup()) return input;
  return runtime.heap().NewText(EscapeHtml(runtime, ToText(runtime, input))).Markup();
}

Value Safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("safe", arguments, {});
  return ToStringValue(runtime, input).Markup();
}

Value Format(Runtime& runtime, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    Fail("can't handle positional and keyword arguments at the same time");
  }
  const Value format = ToStringValue(runtime, input);
  if (arguments.named.empty()) {
    return FormatPercent(runtime, format,
                         runtime.heap().NewList(arguments.positional, List::Kind::kTuple));
  }
  Dict& named = runtime.heap().NewDict();
  for (const auto& [name, value] : arguments.named) named.Set(runtime, name, value);
  return FormatPercent(runtime, format, Value::Of(&named));
}

Value WordCount(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  const OriginText text = ToText(runtime, input);
  runtime.StepBytes(8 * text.size());
  std::int64_t words = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), at);
    const bool is_word = IsWord(c.value);
    if (is_word && !in_word) ++words;
    in_word = is_word;
    at += c.bytes;
  }
  return Value::Int(words);
}

std::string PercentEncoded(std::string_view text, std::string_view unreserved) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && IsWord(byte)) || unreserved.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

// A string percent-encoded, or the pairs of a dict or list as the query of a URL.
Value UrlEncode(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("urlencode", arguments, {});
  const auto encode = [&](const Value& value, std::string_view unreserved) {
    const OriginText text = ToText(runtime, value);
    runtime.heap().Charge(3 * text.size());
    return PercentEncoded(text.bytes(), unreserved);
  };
  if (input.IsString() || !IsIterable(input)) {
    return runtime.heap().NewText(OriginText(encode(input, "-.~/"), false));
  }
  std::string query;
  const auto add = [&](const Value& key, const Value& value) {
    if (!query.empty()) query += '&';
    query += encode(key, "-.~ ") + "=" + encode(value, "-.~ ");
  };
  if (input.IsDict()) {
    for (const auto& [key, value] : input.dict().entries()) add(key, value);
  } else {
    for (const Value& item : Iterate(runtime, input)) {
      const std::vector<Value> pair = Iterate(runtime, item);
      if (pair.size() != 2) Fail("urlencode needs pairs");
      add(pair[0], pair[1]);
    }
  }
  std::replace(query.begin(), query.end(), ' ', '+');
  return runtime.heap().NewText(OriginText(query, false));
}

}  // namespace

const FilterTable& TextFilters() {
  static const auto& filters = *new FilterTable{
      {"capitalize", CaseFilter<"capitalize", Case::kCapitalized>},
      {"center", Center},
      {"e", Escape},
      {"escape", Escape},
      {"format", Format},
      {"indent", Indent},
      {"lower", CaseFilter<"lower", Case::kLower>},
      {"replace", ReplaceFilter},
      {"safe", Safe},
      {"string", String},
      {"title", Title},
      {"tojson", ToJsonFilter},
      {"trim", Trim},
      {"upper", CaseFilter<"upper", Case::kUpper>},
      {"urlencode", UrlEncode},
      {"wordcount", WordCount},
  };
  return filters;
}

}  // namespace stoker::text::jinja
