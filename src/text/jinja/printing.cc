#include "text/jinja/printing.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/operations.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

// Punctuation that the value's shape asked for: as little to be trusted as the value.
constexpr bool kData = false;
// What a piece of another origin adds to the memory of the text around it.
constexpr std::size_t kFlipBytes = 2 * sizeof(std::size_t);

void AppendQuoted(Runtime& runtime, const OriginText& text, OriginText& out) {
  runtime.StepBytes(text.size());
  const bool single_only =
      text.bytes().find('\'') != std::string::npos && text.bytes().find('"') == std::string::npos;
  const char quote = single_only ? '"' : '\'';
  out.Append(std::string_view(&quote, 1), kData);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text.bytes(), at);
    std::string escape;
    if (c.value == '\\' || c.value == static_cast<unsigned char>(quote)) {
      escape = {'\\', static_cast<char>(c.value)};
    } else if (c.value == '\n') {
      escape = "\\n";
    } else if (c.value == '\r') {
      escape = "\\r";
    } else if (c.value == '\t') {
      escape = "\\t";
    } else if (!IsPrintable(c.value)) {
      const auto code = static_cast<std::uint32_t>(c.value);
      escape = code <= 0xFF     ? fmt::format("\\x{:02x}", code)
               : code <= 0xFFFF ? fmt::format("\\u{:04x}", code)
                                : fmt::format("\\U{:08x}", code);
    }
    if (escape.empty()) {
      out.AppendSlice(text, at, at + c.bytes);
    } else {
      runtime.heap().Charge(escape.size() + kFlipBytes);
      out.Append(escape, kData);
    }
    at += c.bytes;
  }
  out.Append(std::string_view(&quote, 1), kData);
}

std::string ScalarText(const Value& value) {
  switch (value.type()) {
    case Type::kNone:
      return "None";
    case Type::kBool:
      return value.boolean() ? "True" : "False";
    case Type::kInt:
      return std::to_string(value.integer());
    case Type::kFloat:
      return FloatRepr(value.real());
    case Type::kObject:
      return fmt::format("<{}>", value.object().TypeName());
    default:
      return "";
  }
}

void AppendRepr(Runtime& runtime, const Value& value, OriginText& out);

void AppendItems(Runtime& runtime, const List& list, OriginText& out) {
  const bool is_tuple = list.kind == List::Kind::kTuple;
  out.Append(is_tuple ? "(" : "[", kData);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.Append(", ", kData);
    AppendRepr(runtime, list.items[i], out);
  }
  if (is_tuple && list.items.size() == 1) out.Append(",", kData);
  out.Append(is_tuple ? ")" : "]", kData);
}

void AppendRepr(Runtime& runtime, const Value& value, OriginText& out) {
  const DepthGuard guard(runtime);
  runtime.heap().Charge(16 + kFlipBytes);
  switch (value.type()) {
    case Type::kUndefined:
      out.Append("Undefined", kData);
      return;
    case Type::kString:
      runtime.heap().Charge(value.text().memory_bytes());
      if (value.is_markup()) out.Append("Markup(", kData);
      AppendQuoted(runtime, value.text(), out);
      if (value.is_markup()) out.Append(")", kData);
      return;
    case Type::kList: {
      const List& list = value.list();
      if (list.kind == List::Kind::kIterator) {
        out.Append("<generator>", kData);
      } else if (list.kind == List::Kind::kRange) {
        const auto& [start, stop, step] = list.range;
        const std::string step_text = step == 1 ? "" : fmt::format(", {}", step);
        out.Append(fmt::format("range({}, {}{})", start, stop, step_text), kData);
      } else {
        AppendItems(runtime, list, out);
      }
      return;
    }
    case Type::kDict: {
      out.Append("{", kData);
      bool first = true;
      for (const auto& [key, item] : value.dict().entries()) {
        if (!first) out.Append(", ", kData);
        first = false;
        AppendRepr(runtime, key, out);
        out.Append(": ", kData);
        AppendRepr(runtime, item, out);
      }
      out.Append("}", kData);
      return;
    }
    default:
      out.Append(ScalarText(value), kData);
  }
}

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view shortest(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = shortest.find('e');
  int exponent = 0;
  const std::string_view exponent_text = shortest.substr(e + (shortest[e + 1] == '+' ? 2 : 1));
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", shortest.substr(0, e), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  std::string digits(shortest.substr(0, e));
  const bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  std::erase(digits, '.');
  if (exponent < 0) {
    digits = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole + 1) digits.resize(whole + 1, '0');
    digits.insert(whole, 1, '.');
  }
  return negative ? "-" + digits : digits;
}

OriginText ToText(Runtime& runtime, const Value& value) {
  if (value.IsString()) {
    runtime.StepBytes(value.text().size());
    return value.text();
  }
  if (value.IsList() || value.IsDict()) return ToRepr(runtime, value);
  return OriginText(ScalarText(value), true);
}

OriginText ToRepr(Runtime& runtime, const Value& value) {
  OriginText out;
  AppendRepr(runtime, value, out);
  return out;
}

Value ToStringValue(Runtime& runtime, const Value& value) {
  return value.IsString() ? value : runtime.heap().NewText(ToText(runtime, value));
}

OriginText EscapeHtml(Runtime& runtime, const OriginText& text) {
  runtime.StepBytes(8 * text.size());
  runtime.heap().Require(5 * text.memory_bytes());  // each becomes at most 5 bytes
  OriginText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string_view escape;
    switch (text.bytes()[at]) {
      case '&':
        escape = "&amp;";
        break;
      case '<':
        escape = "&lt;";
        break;
      case '>':
        escape = "&gt;";
        break;
      case '\'':
        escape = "&#39;";
        break;
      case '"':
        escape = "&#34;";
        break;
      default:
        out.AppendSlice(text, at, at + 1);
        continue;
    }
    out.Append(escape, text.TrustedAt(at));
  }
  return out;
}

}  // namespace stoker::text::jinja
