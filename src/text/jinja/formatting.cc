#include "text/jinja/formatting.h"

#include <charconv>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

constexpr int kMaxPrecision = 100;  // of what a template can sensibly want

// [[fill]align][sign][#][0][width][,][.precision][type], also what % directives come down to.
struct Spec {
  bool trusted = true;  // whether the template wrote it; so is then what it adds
  OriginText fill{" ", true};
  char align = 0;  // '<', '>', '^' or '='; 0: right for numbers, left for the rest
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  std::int64_t width = 0;
  int precision = -1;
  char type = 0;
};

// Reads text from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  [[nodiscard]] bool done() const { return text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_[0]; }
  [[nodiscard]] std::string_view rest() const { return text_; }
  bool Skip(char c) {
    if (peek() != c || done()) return false;
    text_.remove_prefix(1);
    return true;
  }
  char Next() {
    const char c = peek();
    if (!done()) text_.remove_prefix(1);
    return c;
  }
  std::string_view Take(std::size_t bytes) {
    const std::string_view taken = text_.substr(0, bytes);
    text_.remove_prefix(taken.size());
    return taken;
  }
  // A run of digits as a number, or `otherwise` where there is none.
  std::int64_t Number(std::int64_t otherwise) {
    std::int64_t number = otherwise;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (peek() == '-' || error == std::errc::invalid_argument) return otherwise;
    if (error != std::errc()) Fail("Too many decimal digits in format string");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }

 private:
  std::string_view text_;
};

int CheckedPrecision(std::int64_t precision) {
  if (precision > kMaxPrecision) Fail("format precision {} is too large", precision);
  return static_cast<int>(precision);
}

Spec ParseSpec(std::string_view text, bool trusted) {
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  Spec spec{.trusted = trusted, .fill = OriginText(" ", trusted)};
  Reader reader(text);
  if (!text.empty()) {
    const std::size_t first = CodePointAt(text, 0).bytes;
    if (text.size() > first && is_align(text[first])) {
      spec.fill = OriginText(std::string(reader.Take(first)), trusted);
      spec.align = reader.Next();
    } else if (is_align(text[0])) {
      spec.align = reader.Next();
    }
  }
  if (const char c = reader.peek(); c == '+' || c == '-' || c == ' ') spec.sign = reader.Next();
  spec.alternate = reader.Skip('#');
  if (reader.Skip('0') && spec.align == 0) {
    spec.fill = OriginText("0", trusted);
    spec.align = '=';
  }
  spec.width = reader.Number(0);
  if (const char c = reader.peek(); c == ',' || c == '_') spec.grouping = reader.Next();
  if (reader.Skip('.')) spec.precision = CheckedPrecision(reader.Number(0));
  spec.type = reader.Next();
  if (!reader.done()) Fail("Invalid format specifier '{}'", text);
  return spec;
}

std::string Grouped(std::string digits, char separator) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (std::size_t at = whole; at > 3;) {
    at -= 3;
    digits.insert(at, 1, separator);
  }
  return digits;
}

std::string IntDigits(std::uint64_t magnitude, const Spec& spec) {
  switch (spec.type) {
    case 'x':
      return spec.alternate ? fmt::format("0x{:x}", magnitude) : fmt::format("{:x}", magnitude);
    case 'X':
      return spec.alternate ? fmt::format("0X{:X}", magnitude) : fmt::format("{:X}", magnitude);
    case 'o':
      return spec.alternate ? fmt::format("0o{:o}", magnitude) : fmt::format("{:o}", magnitude);
    case 'b':
      return spec.alternate ? fmt::format("0b{:b}", magnitude) : fmt::format("{:b}", magnitude);
    default:
      return std::to_string(magnitude);
  }
}

std::string FloatDigits(double magnitude, const Spec& spec) {
  if (!std::isfinite(magnitude)) return std::isnan(magnitude) ? "nan" : "inf";
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
      return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
      return fmt::format("{:.{}E}", magnitude, precision);
    case 'g':
      return fmt::format("{:.{}g}", magnitude, precision);
    case 'G':
      return fmt::format("{:.{}G}", magnitude, precision);
    case '%':
      return fmt::format("{:.{}f}%", magnitude * 100, precision);
    case 0:
      if (spec.precision < 0) return FloatRepr(magnitude);
      return fmt::format("{:.{}g}", magnitude, precision);
    default:
      return fmt::format("{:.{}f}", magnitude, precision);
  }
}

OriginText FormatNumber(Runtime& runtime, const Value& value, const Spec& spec) {
  const bool as_float =
      value.IsFloat() || std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  bool negative = false;
  std::string digits;
  if (as_float) {
    const double real = value.AsFloat();
    negative = std::signbit(real) && !std::isnan(real);
    digits = FloatDigits(std::abs(real), spec);
  } else {
    const std::int64_t integer = value.AsInt();
    negative = integer < 0;
    const auto bits = static_cast<std::uint64_t>(integer);
    digits = IntDigits(negative ? ~bits + 1 : bits, spec);
  }
  if (spec.grouping != 0) digits = Grouped(std::move(digits), spec.grouping);
  const std::string sign = negative ? "-" : (spec.sign == '-' ? "" : std::string(1, spec.sign));
  if (spec.align == '=') {
    OriginText out(sign, spec.trusted);
    out.Append(Pad(runtime, OriginText(digits, spec.trusted),
                   spec.width - static_cast<std::int64_t>(sign.size()), Align::kRight, spec.fill));
    return out;
  }
  const Align align = spec.align == '<'   ? Align::kLeft
                      : spec.align == '^' ? Align::kCentre
                                          : Align::kRight;
  return Pad(runtime, OriginText(sign + digits, spec.trusted), spec.width, align, spec.fill);
}

OriginText FormatText(Runtime& runtime, const OriginText& text, const Spec& spec, Align otherwise) {
  runtime.StepBytes(4 * text.size());
  OriginText cut = text;
  if (spec.precision >= 0) {
    std::size_t end = 0;
    for (int i = 0; i < spec.precision && end < text.size(); ++i) {
      end += CodePointAt(text.bytes(), end).bytes;
    }
    cut = text.Slice(0, end);
  }
  const Align align = spec.align == '>'   ? Align::kRight
                      : spec.align == '^' ? Align::kCentre
                      : spec.align == '<' ? Align::kLeft
                                          : otherwise;
  return Pad(runtime, cut, spec.width, align, spec.fill);
}

// The arguments of a % operation, handed out one by one or by name.
class PercentArguments {
 public:
  explicit PercentArguments(const Value& all)
      : all_(all), is_tuple_(all.IsList() && all.list().kind == List::Kind::kTuple) {}

  Value Next() {
    const std::size_t count = is_tuple_ ? all_.list().items.size() : 1;
    if (used_ >= count) Fail("not enough arguments for format string");
    return is_tuple_ ? all_.list().items[used_++] : (++used_, all_);
  }
  Value Named(std::string_view name) {
    if (!all_.IsDict()) Fail("format requires a mapping");
    const Value* found = all_.dict().Find(name);
    if (found == nullptr) Fail("KeyError: '{}'", name);
    return *found;
  }
  void CheckAllUsed() const {
    const std::size_t count = is_tuple_ ? all_.list().items.size() : 1;
    if (used_ < count && !all_.IsDict() && (is_tuple_ || !all_.IsList())) {
      Fail("not all arguments converted during string formatting");
    }
  }

 private:
  const Value& all_;
  bool is_tuple_;
  std::size_t used_ = 0;
};

// One directive after its percent sign.
OriginText FormatDirective(Runtime& runtime, Reader& reader, PercentArguments& arguments,
                           bool trusted) {
  std::optional<Value> named;
  if (reader.Skip('(')) {
    const std::size_t close = reader.rest().find(')');
    if (close == std::string_view::npos) Fail("incomplete format key");
    named = arguments.Named(reader.Take(close));
    reader.Skip(')');
  }
  Spec spec{.trusted = trusted, .fill = OriginText(" ", trusted)};
  for (bool flags = true; flags;) {
    if (reader.Skip('-')) {
      spec.align = '<';
    } else if (reader.Skip('0')) {
      if (spec.align != '<') spec.align = '=', spec.fill = OriginText("0", trusted);
    } else if (reader.Skip('+')) {
      spec.sign = '+';
    } else if (reader.Skip(' ')) {
      if (spec.sign == '-') spec.sign = ' ';
    } else if (reader.Skip('#')) {
      spec.alternate = true;
    } else {
      flags = false;
    }
  }
  if (spec.align == '<') spec.fill = OriginText(" ", trusted);
  spec.width = reader.Number(0);
  if (reader.Skip('.')) spec.precision = CheckedPrecision(reader.Number(0));
  spec.type = reader.Next();
  if (spec.type == '%') return OriginText("%", trusted);
  if (std::string_view("srdiuxXofFeEgGc").find(spec.type) == std::string_view::npos ||
      spec.type == 0) {
    Fail("unsupported format character in format string");
  }
  const Value value = named ? *named : arguments.Next();
  if (spec.type == 's' || spec.type == 'r' || spec.type == 'c') {
    if (spec.align == '=') spec.fill = OriginText(" ", trusted), spec.align = 0;
    return FormatText(runtime, spec.type == 'r' ? ToRepr(runtime, value) : ToText(runtime, value),
                      spec, Align::kRight);
  }
  RequireDefined(value);
  if (!value.IsNumber()) {
    Fail("%{} format: a real number is required, not {}", spec.type, TypeName(value));
  }
  if (spec.type == 'd' || spec.type == 'i' || spec.type == 'u') {
    spec.type = 'd';
    const double real = value.AsFloat();
    if (value.IsFloat() && !(std::abs(real) < 9e18)) Fail("cannot convert {} to integer", real);
    return FormatNumber(
        runtime, value.IsFloat() ? Value::Int(static_cast<std::int64_t>(real)) : value, spec);
  }
  const bool wants_int = spec.type == 'x' || spec.type == 'X' || spec.type == 'o';
  if (wants_int && value.IsFloat()) {
    Fail("%{} format: an integer is required, not float", spec.type);
  }
  return FormatNumber(runtime, value, spec);
}

// Where the fields of a str.format string get their values.
class BraceFields {
 public:
  BraceFields(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  // The value of "", "0", "name", "name.attribute[key]".
  Value Resolve(std::string_view field) {
    const std::size_t head_end = std::min(field.find_first_of(".["), field.size());
    Value value = Head(field.substr(0, head_end));
    std::string_view path = field.substr(head_end);
    while (!path.empty()) {
      const bool is_item = path[0] == '[';
      path.remove_prefix(1);
      const std::size_t end =
          is_item ? path.find(']') : std::min(path.find_first_of(".["), path.size());
      if (end == std::string_view::npos) Fail("expected ']' before end of string");
      value = Step(value, path.substr(0, end), is_item);
      path.remove_prefix(std::min(end + (is_item ? 1 : 0), path.size()));
      if (!path.empty() && path[0] != '.' && path[0] != '[') {
        Fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

 private:
  static std::optional<std::int64_t> AsIndex(std::string_view text) {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size() || index < 0) return std::nullopt;
    return index;
  }

  Value Head(std::string_view name) {
    std::optional<std::int64_t> index = AsIndex(name);
    if (name.empty()) index = static_cast<std::int64_t>(next_++);
    if (index) {
      if (std::cmp_greater_equal(*index, arguments_.positional.size())) {
        Fail("Replacement index {} out of range for positional args tuple", *index);
      }
      return arguments_.positional[static_cast<std::size_t>(*index)];
    }
    runtime_.StepBytes(arguments_.named.size() * sizeof(NamedArgument));
    for (const auto& [key, value] : arguments_.named) {
      if (key.bytes() == name) return value;
    }
    Fail("KeyError: '{}'", name);
  }

  Value Step(const Value& value, std::string_view name, bool is_item) {
    const std::optional<std::int64_t> index = is_item ? AsIndex(name) : std::nullopt;
    const Value next =
        index ? GetItem(runtime_, value, Value::Int(*index)) : GetAttribute(runtime_, value, name);
    RequireDefined(next);
    return next;
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
};

OriginText FormatField(Runtime& runtime, const Value& value, char conversion,
                       std::string_view spec_text, bool trusted) {
  const Spec spec = ParseSpec(spec_text, trusted);
  if (conversion == 'r') return FormatText(runtime, ToRepr(runtime, value), spec, Align::kLeft);
  if (conversion != 0 && conversion != 's') Fail("Unknown conversion specifier {}", conversion);
  if (spec_text.empty() || conversion == 's' || !value.IsNumber()) {
    if (spec.type != 0 && spec.type != 's') {
      Fail("Unknown format code '{}' for object of type '{}'", spec.type, TypeName(value));
    }
    return FormatText(runtime, ToText(runtime, value), spec, Align::kLeft);
  }
  const std::string_view allowed =
      value.IsFloat() ? std::string_view("eEfFgG%n") : std::string_view("bdoxXneEfFgG%");
  if (spec.type != 0 && allowed.find(spec.type) == std::string_view::npos) {
    Fail("Unknown format code '{}' for object of type '{}'", spec.type, TypeName(value));
  }
  return FormatNumber(runtime, value, spec);
}

}  // namespace

Value FormatPercent(Runtime& runtime, const Value& format, const Value& arguments) {
  const OriginText& text = format.text();
  PercentArguments values(arguments);
  OriginText out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t percent = std::min(text.bytes().find('%', at), text.size());
    out.AppendSlice(text, at, percent);
    if (percent == text.size()) break;
    if (percent + 1 == text.size()) Fail("incomplete format");
    Reader reader(std::string_view(text.bytes()).substr(percent + 1));
    runtime.Step();
    const OriginText piece = FormatDirective(runtime, reader, values, text.TrustedAt(percent));
    runtime.heap().Charge(piece.memory_bytes() + 2 * sizeof(std::size_t));
    out.Append(piece);
    at = text.size() - reader.rest().size();
  }
  values.CheckAllUsed();
  return runtime.heap().NewMarkupLike(format, std::move(out));
}

Value FormatBraces(Runtime& runtime, const Value& format, const Arguments& arguments) {
  const OriginText& text = format.text();
  const std::string_view all = text.bytes();
  BraceFields fields(runtime, arguments);
  OriginText out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t brace = std::min(all.find_first_of("{}", at), all.size());
    out.AppendSlice(text, at, brace);
    if (brace == all.size()) break;
    if (brace + 1 < all.size() && all[brace + 1] == all[brace]) {
      out.AppendSlice(text, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const std::size_t close = all.find('}', brace);
    if (all[brace] == '}') Fail("Single '}}' encountered in format string");
    if (close == std::string_view::npos) Fail("Single '{{' encountered in format string");
    std::string_view field = all.substr(brace + 1, close - brace - 1);
    if (field.find('{') != std::string_view::npos) Fail("nested format fields are not supported");
    std::string_view spec;
    if (const std::size_t colon = field.find(':'); colon != std::string_view::npos) {
      spec = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = 0;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      conversion = field.back();
      field.remove_suffix(2);
    }
    runtime.Step();
    const OriginText piece = FormatField(runtime, fields.Resolve(field), conversion, spec,
                                         text.Trusted(brace, close + 1));
    runtime.heap().Charge(piece.memory_bytes() + 2 * sizeof(std::size_t));
    out.Append(piece);
    at = close + 1;
  }
  return runtime.heap().NewMarkupLike(format, std::move(out));
}

}  // namespace stoker::text::jinja
