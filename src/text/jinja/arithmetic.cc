#include "text/jinja/arithmetic.h"

#include <cmath>
#include <limits>

#include "text/jinja/failure.h"
#include "text/jinja/formatting.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"

namespace stoker::text::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

[[noreturn]] void Overflow() {
  Fail("integer overflow: the result needs more than 64 bits");
}

[[noreturn]] void Unsupported(ArithmeticOp op, const Value& a, const Value& b) {
  Fail("unsupported operand type(s) for {}: '{}' and '{}'", kSymbols[static_cast<std::size_t>(op)],
       TypeName(a), TypeName(b));
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  if (b == 0) Fail("integer division or modulo by zero");
  if (b == -1) {
    std::int64_t negated = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated)) Overflow();
    return negated;
  }
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::int64_t Modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) Fail("integer division or modulo by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

Value IntPower(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) Fail("0.0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) Overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) Overflow();
  }
  return Value::Int(result);
}

Value IntArithmetic(ArithmeticOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case ArithmeticOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case ArithmeticOp::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case ArithmeticOp::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case ArithmeticOp::kDivide:
      if (b == 0) Fail("division by zero");
      return Value::Float(static_cast<double>(a) / static_cast<double>(b));
    case ArithmeticOp::kFloorDivide:
      result = FloorDivide(a, b);
      break;
    case ArithmeticOp::kModulo:
      result = Modulo(a, b);
      break;
    case ArithmeticOp::kPower:
      return IntPower(a, b);
  }
  if (overflow) Overflow();
  return Value::Int(result);
}

Value FloatArithmetic(ArithmeticOp op, double a, double b) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return Value::Float(a + b);
    case ArithmeticOp::kSubtract:
      return Value::Float(a - b);
    case ArithmeticOp::kMultiply:
      return Value::Float(a * b);
    case ArithmeticOp::kPower:
      if (a == 0 && b < 0) Fail("0.0 cannot be raised to a negative power");
      if (a < 0 && std::trunc(b) != b) Fail("complex numbers are not supported");
      return Value::Float(std::pow(a, b));
    case ArithmeticOp::kDivide:
      if (b == 0) Fail("float division by zero");
      return Value::Float(a / b);
    case ArithmeticOp::kFloorDivide:
    case ArithmeticOp::kModulo:
      break;
  }
  if (b == 0) Fail("float floor division by zero");
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  if (op == ArithmeticOp::kModulo) return Value::Float(rest == 0 ? std::copysign(0.0, b) : rest);
  return Value::Float(std::round((a - rest) / b));
}

Value AddTexts(Runtime& runtime, const Value& a, const Value& b) {
  const bool markup = a.is_markup() || b.is_markup();
  runtime.heap().Require(a.text().memory_bytes() + b.text().memory_bytes());
  runtime.StepBytes(a.text().size() + b.text().size());
  OriginText sum = markup && !a.is_markup() ? EscapeHtml(runtime, a.text()) : a.text();
  sum.Append(markup && !b.is_markup() ? EscapeHtml(runtime, b.text()) : b.text());
  const Value text = runtime.heap().NewText(std::move(sum));
  return markup ? text.Markup() : text;
}

Value Repeat(Runtime& runtime, const Value& value, std::int64_t times) {
  const bool is_text = value.IsString();
  const std::size_t size = is_text ? value.text().memory_bytes() : value.list().items.size();
  const auto count = static_cast<std::size_t>(size == 0 ? 0 : std::max<std::int64_t>(times, 0));
  const std::size_t unit = is_text ? 1 : sizeof(Value);
  if (count > 0 && size > std::numeric_limits<std::size_t>::max() / unit / count) Overflow();
  runtime.heap().Require(size * count * unit);
  if (is_text) {
    OriginText text;
    for (std::size_t i = 0; i < count; ++i) text.Append(value.text());
    return runtime.heap().NewMarkupLike(value, std::move(text));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.list().items.begin(), value.list().items.end());
  }
  return runtime.heap().NewList(std::move(items), value.list().kind);
}

bool IsListOrTuple(const Value& value) {
  return value.IsList() &&
         (value.list().kind == List::Kind::kList || value.list().kind == List::Kind::kTuple);
}

}  // namespace

Value Arithmetic(Runtime& runtime, ArithmeticOp op, const Value& a, const Value& b) {
  if (op == ArithmeticOp::kModulo && a.IsString()) return FormatPercent(runtime, a, b);
  RequireDefined(a);
  RequireDefined(b);
  if (a.IsNumber() && b.IsNumber()) {
    if (a.IsFloat() || b.IsFloat()) return FloatArithmetic(op, a.AsFloat(), b.AsFloat());
    return IntArithmetic(op, a.AsInt(), b.AsInt());
  }
  if (op == ArithmeticOp::kAdd) {
    if (a.IsString() && b.IsString()) return AddTexts(runtime, a, b);
    if (a.IsString()) {
      Fail("can only concatenate str (not \"{}\") to str", TypeName(b));
    }
    if (IsListOrTuple(a) && IsListOrTuple(b) && a.list().kind == b.list().kind) {
      runtime.heap().Require((a.list().items.size() + b.list().items.size()) * sizeof(Value));
      std::vector<Value> items = a.list().items;
      items.insert(items.end(), b.list().items.begin(), b.list().items.end());
      return runtime.heap().NewList(std::move(items), a.list().kind);
    }
  }
  if (op == ArithmeticOp::kMultiply) {
    const auto is_count = [](const Value& value) { return value.IsInt() || value.IsBool(); };
    if ((a.IsString() || IsListOrTuple(a)) && is_count(b)) return Repeat(runtime, a, b.AsInt());
    if ((b.IsString() || IsListOrTuple(b)) && is_count(a)) return Repeat(runtime, b, a.AsInt());
  }
  Unsupported(op, a, b);
}

Value Negate(const Value& value) {
  RequireDefined(value);
  if (value.IsFloat()) return Value::Float(-value.real());
  if (!value.IsNumber()) Fail("bad operand type for unary -: '{}'", TypeName(value));
  return IntArithmetic(ArithmeticOp::kSubtract, 0, value.AsInt());
}

Value Positive(const Value& value) {
  RequireDefined(value);
  if (!value.IsNumber()) Fail("bad operand type for unary +: '{}'", TypeName(value));
  return value.IsFloat() ? value : Value::Int(value.AsInt());
}

Value Concatenate(Runtime& runtime, const std::vector<Value>& parts) {
  OriginText joined;
  for (const Value& part : parts) {
    const OriginText text = ToText(runtime, part);
    runtime.heap().Charge(text.memory_bytes());
    joined.Append(text);
  }
  return runtime.heap().NewText(std::move(joined));
}

}  // namespace stoker::text::jinja
