#pragma once

#include <cstdint>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

enum class ArithmeticOp : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
};

/// a OP b as in Python, strings and lists included; `%` on a string formats it. Integers have 64
/// bits here and fail beyond.
Value Arithmetic(Runtime& runtime, ArithmeticOp op, const Value& a, const Value& b);
Value Negate(const Value& value);
/// +value
Value Positive(const Value& value);
/// a ~ b ~ …, which never escapes
Value Concatenate(Runtime& runtime, const std::vector<Value>& parts);

}  // namespace stoker::text::jinja
