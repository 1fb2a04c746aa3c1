#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

// Python's operators and built-in functions on values. All fail with Python's message where Python
// would raise.

/// The name of a value's Python type.
std::string_view TypeName(const Value& value);
/// Fails with the reason why the value is undefined, if it is.
void RequireDefined(const Value& value);

bool Truthy(const Value& value);
/// a == b
bool Equal(Runtime& runtime, const Value& a, const Value& b);
/// How a is ordered with b. Only for two numbers, strings or sequences; `symbol` is the operator
/// for the message.
std::partial_ordering Compare(Runtime& runtime, std::string_view symbol, const Value& a,
                              const Value& b);
/// a < b, for sorting: fails where one is nan, which no order has a place for.
bool SortsBefore(Runtime& runtime, const Value& a, const Value& b);
/// item in container
bool Contains(Runtime& runtime, const Value& container, const Value& item);
/// len(value)
std::size_t Length(Runtime& runtime, const Value& value);
bool IsCallable(const Value& value);
bool IsIterable(const Value& value);
/// What a loop over the value visits. Reading an iterator empties it.
std::vector<Value> Iterate(Runtime& runtime, const Value& value);

/// value.name and value['name']: undefined where there is neither attribute nor item.
Value GetAttribute(Runtime& runtime, const Value& value, std::string_view name);
/// value[key]
Value GetItem(Runtime& runtime, const Value& value, const Value& key);
/// An attribute by a dotted path such as "function.name" or "0.role", as filters take it; each step
/// that finds nothing yields `otherwise`, if that is defined.
Value GetPath(Runtime& runtime, const Value& value, const Value& path,
              const Value& otherwise = Value());

/// value[start:stop:step]; a None or undefined part is left out.
struct SliceBounds {
  Value start;
  Value stop;
  Value step;
};
Value Slice(Runtime& runtime, const Value& value, const SliceBounds& bounds);

Value Call(Runtime& runtime, const Value& callee, const Arguments& arguments);

}  // namespace stoker::text::jinja
