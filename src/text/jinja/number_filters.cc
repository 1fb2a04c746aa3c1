#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/jinja/arithmetic.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_functions.h"

namespace stoker::text::jinja {
namespace {

// int(text, base) and float(text): white space around the number is fine, anything else is not.
std::string Bare(Runtime& runtime, const OriginText& text) {
  std::string bare = Strip(runtime, text, Side::kBoth, nullptr).bytes();
  std::erase(bare, '_');
  return bare;
}

std::optional<std::int64_t> ParseInt(std::string_view text, std::int64_t base) {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  const bool negative = text.starts_with('-');
  if (has_sign) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const auto letter = static_cast<char>(text[1] | 0x20);
    const int implied = letter == 'x' ? 16 : (letter == 'o' ? 8 : (letter == 'b' ? 2 : 0));
    if (implied != 0 && (base == implied || base == 0)) {
      text.remove_prefix(2);
      base = implied;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || text.empty() || text[0] == '-') return std::nullopt;
  const std::string digits = (negative ? "-" : "") + std::string(text);
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, static_cast<int>(base));
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> Truncated(double value) {
  if (!(std::abs(value) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Value IntFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  RequireDefined(input);
  std::optional<std::int64_t> value;
  if (input.IsString()) {
    const std::string bare = Bare(runtime, input.text());
    value = ParseInt(bare, bound.Int(1, 10));
    if (!value) {
      if (const auto real = ParseFloat(bare)) value = Truncated(*real);
    }
  } else if (input.IsFloat()) {
    value = Truncated(input.real());
  } else if (input.IsNumber()) {
    value = input.AsInt();
  }
  if (value) return Value::Int(*value);
  return bound[0].IsUndefined() ? Value::Int(0) : bound[0];
}

Value FloatFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  RequireDefined(input);
  if (input.IsNumber()) return Value::Float(input.AsFloat());
  if (input.IsString()) {
    if (const auto value = ParseFloat(Bare(runtime, input.text()))) return Value::Float(*value);
  }
  return bound[0].IsUndefined() ? Value::Float(0) : bound[0];
}

Value Abs(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  RequireDefined(input);
  if (!input.IsNumber()) Fail("bad operand type for abs(): '{}'", TypeName(input));
  if (input.IsFloat()) return Value::Float(std::abs(input.real()));
  return input.AsInt() < 0 ? Negate(input) : Value::Int(input.AsInt());
}

// Rounds off so many digits of an integer, halves to even.
std::int64_t RoundOff(std::int64_t value, std::int64_t digits) {
  std::uint64_t unit = 1;
  for (std::int64_t i = 0; i < digits; ++i) {
    if (__builtin_mul_overflow(unit, std::uint64_t{10}, &unit)) return 0;
  }
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = value < 0 ? ~bits + 1 : bits;
  const std::uint64_t rest = magnitude % unit;
  std::uint64_t rounded = magnitude - rest;
  const bool is_odd = magnitude / unit % 2 == 1;
  if (rest > unit - rest || (rest == unit - rest && is_odd)) rounded += unit;
  if (rounded > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    Fail("integer overflow: the result needs more than 64 bits");
  }
  const auto result = static_cast<std::int64_t>(rounded);
  return value < 0 ? -result : result;
}

double RoundTo(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 300) return value;
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / scale) * scale;
  }
  // Rounds the exact binary value, halves to even, as Python does.
  const std::string digits = fmt::format("{:.{}f}", value, precision);
  double rounded = value;
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

Value Round(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  RequireDefined(input);
  if (!input.IsNumber()) Fail("type {} doesn't define __round__ method", TypeName(input));
  const std::int64_t precision = std::clamp<std::int64_t>(bound.Int(0, 0), -300, 300);
  const std::string method = bound.Has(1) ? bound.Text(1).bytes() : "common";
  if (method == "common") {
    return input.IsFloat() ? Value::Float(RoundTo(input.real(), precision))
                           : Value::Int(RoundOff(input.AsInt(), -precision));
  }
  if (method != "ceil" && method != "floor") Fail("method must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.AsFloat() * scale;
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

}  // namespace

const FilterTable& NumberFilters() {
  static const auto& filters = *new FilterTable{
      {"abs", Abs},
      {"float", FloatFilter},
      {"int", IntFilter},
      {"round", Round},
  };
  return filters;
}

}  // namespace stoker::text::jinja
