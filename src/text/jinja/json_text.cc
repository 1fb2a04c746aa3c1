#include <algorithm>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

constexpr bool kData = false;

std::string EscapeOf(const CodePoint& c, bool ensure_ascii) {
  switch (c.value) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(c.value);
  if (code < 0x20 || (ensure_ascii && code >= 0x7F && code <= 0xFFFF)) {
    return fmt::format("\\u{:04x}", code);
  }
  if (ensure_ascii && code > 0xFFFF) {
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                       0xDC00 + ((code - 0x10000) & 0x3FF));
  }
  return "";
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  void Write(const Value& value, int level) {
    const DepthGuard guard(runtime_);
    runtime_.Step();
    switch (value.type()) {
      case Type::kString:
        WriteString(value.text());
        return;
      case Type::kDict:
        WriteDict(value.dict(), level);
        return;
      case Type::kList:
        if (value.list().kind == List::Kind::kList || value.list().kind == List::Kind::kTuple) {
          WriteList(value.list(), level);
          return;
        }
        break;
      case Type::kUndefined:
      case Type::kObject:
        break;
      default:
        Put(Scalar(value));
        return;
    }
    Fail("Object of type {} is not JSON serializable", TypeName(value));
  }

  OriginText Take() { return std::move(out_); }

 private:
  static std::string Scalar(const Value& value) {
    switch (value.type()) {
      case Type::kBool:
        return value.boolean() ? "true" : "false";
      case Type::kInt:
        return std::to_string(value.integer());
      case Type::kFloat:
        if (std::isnan(value.real())) return "NaN";
        if (std::isinf(value.real())) return value.real() < 0 ? "-Infinity" : "Infinity";
        return FloatRepr(value.real());
      default:
        return "null";
    }
  }

  void Put(std::string_view text) {
    runtime_.heap().Charge(text.size() + 2 * sizeof(std::size_t));  // and where origins change
    out_.Append(text, kData);
  }

  void WriteString(const OriginText& text) {
    runtime_.heap().Charge(text.memory_bytes());
    runtime_.StepBytes(8 * text.size());
    Put("\"");
    std::size_t plain = 0;  // from here on nothing has been copied yet
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = CodePointAt(text.bytes(), at);
      if (const std::string escape = EscapeOf(c, style_.ensure_ascii); !escape.empty()) {
        out_.AppendSlice(text, plain, at);
        Put(escape);
        plain = at + c.bytes;
      }
      at += c.bytes;
    }
    out_.AppendSlice(text, plain, text.size());
    Put("\"");
  }

  void NewLine(int level) {
    if (!style_.indent) return;
    Put("\n");
    for (int i = 0; i < level; ++i) Put(*style_.indent);
  }

  void WriteList(const List& list, int level) {
    if (list.items.empty()) {
      Put("[]");
      return;
    }
    Put("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) Put(style_.item_separator);
      NewLine(level + 1);
      Write(list.items[i], level + 1);
    }
    NewLine(level);
    Put("]");
  }

  void WriteDict(const Dict& dict, int level) {
    if (dict.size() == 0) {
      Put("{}");
      return;
    }
    runtime_.heap().Charge(dict.size() * sizeof(Dict::Entry*));
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const Dict::Entry* a, const Dict::Entry* b) {
                         return SortsBefore(runtime_, a->first, b->first);
                       });
    }
    Put("{");
    bool first = true;
    for (const Dict::Entry* entry : entries) {
      if (!first) Put(style_.item_separator);
      first = false;
      NewLine(level + 1);
      WriteKey(entry->first);
      Put(style_.key_separator);
      Write(entry->second, level + 1);
    }
    NewLine(level);
    Put("}");
  }

  void WriteKey(const Value& key) {
    if (key.IsString()) {
      WriteString(key.text());
    } else if (key.IsNumber() || key.IsNone()) {
      Put("\"" + Scalar(key) + "\"");
    } else {
      Fail("keys must be str, int, float, bool or None, not {}", TypeName(key));
    }
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  OriginText out_;
};

}  // namespace

OriginText ToJson(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  writer.Write(value, 0);
  return writer.Take();
}

}  // namespace stoker::text::jinja
