#include "text/jinja/operations.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/methods.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

bool SameKind(const List& a, const List& b) {
  const bool a_tuple = a.kind == List::Kind::kTuple;
  const bool b_tuple = b.kind == List::Kind::kTuple;
  return a_tuple == b_tuple && (a.IsSequence() == b.IsSequence());
}

bool EqualDicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
    const Value* other = b.Find(runtime, entry.first);
    return other != nullptr && Equal(runtime, entry.second, *other);
  });
}

// Exact, where a conversion to float would round the integer.
std::partial_ordering CompareIntFloat(std::int64_t integer, double real) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (real >= kBeyond) return std::partial_ordering::less;
  if (real < -kBeyond) return std::partial_ordering::greater;
  if (std::isnan(real)) return std::partial_ordering::unordered;
  const double whole = std::trunc(real);
  const std::strong_ordering order = integer <=> static_cast<std::int64_t>(whole);
  return std::is_neq(order) ? std::partial_ordering(order) : whole <=> real;
}

std::partial_ordering Reversed(std::partial_ordering order) {
  if (std::is_lt(order)) return std::partial_ordering::greater;
  return std::is_gt(order) ? std::partial_ordering::less : order;
}

std::partial_ordering CompareNumbers(const Value& a, const Value& b) {
  if (a.IsFloat() && b.IsFloat()) return a.real() <=> b.real();
  if (a.IsFloat()) return Reversed(CompareIntFloat(b.AsInt(), a.real()));
  if (b.IsFloat()) return CompareIntFloat(a.AsInt(), b.real());
  return a.AsInt() <=> b.AsInt();
}

// The place in a sequence of `size` that an index names; negative ones count from the end.
std::optional<std::size_t> Position(std::int64_t index, std::size_t size) {
  if (index < 0) index += static_cast<std::int64_t>(size);
  if (index < 0 || std::cmp_greater_equal(index, size)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Value MissingItem(Runtime& runtime, const Value& value, std::string_view name) {
  return runtime.heap().NewUndefined(
      fmt::format("'{} object' has no attribute '{}'", TypeName(value), name));
}

Value CharacterAt(Runtime& runtime, const Value& text, std::int64_t index) {
  const OriginText& from = text.text();
  const auto at = Position(index, Length(runtime, text));
  if (!at) return Value();
  if (IsAscii(from.bytes())) return runtime.heap().NewText(from.Slice(*at, *at + 1));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < *at; ++i) begin += CodePointAt(from.bytes(), begin).bytes;
  return runtime.heap().NewText(from.Slice(begin, begin + CodePointAt(from.bytes(), begin).bytes));
}

Value Attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.IsObject()) {
    const Value* found = value.object().Attribute(runtime, name);
    return found != nullptr ? *found : Value();
  }
  if (const Method method = FindMethod(value, name)) {
    return Value::Of(&runtime.heap().New<BoundMethod>(value, method));
  }
  return Value();
}

std::int64_t SlicePart(const Value& part, std::int64_t otherwise) {
  if (part.IsUndefined() || part.IsNone()) return otherwise;
  if (part.IsInt() || part.IsBool()) return part.AsInt();
  Fail("slice indices must be integers or None");
}

}  // namespace

std::string_view TypeName(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return "Undefined";
    case Type::kNone:
      return "NoneType";
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kString:
      return "str";
    case Type::kDict:
      return "dict";
    case Type::kObject:
      return value.object().TypeName();
    case Type::kList:
      break;
  }
  switch (value.list().kind) {
    case List::Kind::kList:
      return "list";
    case List::Kind::kTuple:
      return "tuple";
    case List::Kind::kRange:
      return "range";
    case List::Kind::kView:
      return "dict_view";
    case List::Kind::kIterator:
      break;
  }
  return "generator";
}

void RequireDefined(const Value& value) {
  if (!value.IsUndefined()) return;
  Fail("{}", value.why_undefined() != nullptr ? *value.why_undefined() : "a value is undefined");
}

bool Truthy(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return false;
    case Type::kBool:
      return value.boolean();
    case Type::kInt:
      return value.integer() != 0;
    case Type::kFloat:
      return value.real() != 0;
    case Type::kString:
      return !value.text().empty();
    case Type::kList:
      return value.list().kind == List::Kind::kIterator || !value.list().items.empty();
    case Type::kDict:
      return value.dict().size() != 0;
    case Type::kObject:
      return true;
  }
  return false;
}

bool Equal(Runtime& runtime, const Value& a, const Value& b) {
  const DepthGuard guard(runtime);
  runtime.Step();
  if (a.IsNumber() && b.IsNumber()) return std::is_eq(CompareNumbers(a, b));
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kString:
      runtime.StepBytes(std::min(a.text().size(), b.text().size()));
      return a.bytes() == b.bytes();
    case Type::kList: {
      const List& left = a.list();
      const List& right = b.list();
      if (&left == &right) return true;
      return SameKind(left, right) && left.IsSequence() &&
             std::equal(left.items.begin(), left.items.end(), right.items.begin(),
                        right.items.end(),
                        [&](const Value& x, const Value& y) { return Equal(runtime, x, y); });
    }
    case Type::kDict:
      return EqualDicts(runtime, a.dict(), b.dict());
    case Type::kObject:
      return &a.object() == &b.object();
    default:
      return true;  // None is None, and undefined is undefined
  }
}

std::partial_ordering Compare(Runtime& runtime, std::string_view symbol, const Value& a,
                              const Value& b) {
  const DepthGuard guard(runtime);
  runtime.Step();
  RequireDefined(a);
  RequireDefined(b);
  if (a.IsNumber() && b.IsNumber()) return CompareNumbers(a, b);
  if (a.IsString() && b.IsString()) {
    runtime.StepBytes(std::min(a.text().size(), b.text().size()));
    // The bytes of UTF-8 sort as code points do.
    return a.bytes() <=> b.bytes();
  }
  if (a.IsList() && b.IsList() && SameKind(a.list(), b.list()) && a.list().IsSequence()) {
    const std::vector<Value>& left = a.list().items;
    const std::vector<Value>& right = b.list().items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!Equal(runtime, left[i], right[i])) return Compare(runtime, symbol, left[i], right[i]);
    }
    return left.size() <=> right.size();
  }
  Fail("'{}' not supported between instances of '{}' and '{}'", symbol, TypeName(a), TypeName(b));
}

bool SortsBefore(Runtime& runtime, const Value& a, const Value& b) {
  const std::partial_ordering order = Compare(runtime, "<", a, b);
  if (order == std::partial_ordering::unordered) Fail("nan has no place in an order");
  return std::is_lt(order);
}

bool Contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.IsString()) {
    RequireDefined(item);
    if (!item.IsString()) {
      Fail("'in <string>' requires string as left operand, not {}", TypeName(item));
    }
    StepSearch(runtime, container.bytes(), item.bytes());
    return FindText(container.bytes(), item.bytes()) != std::string::npos;
  }
  if (container.IsDict()) return container.dict().Find(runtime, item) != nullptr;
  if (container.IsList() && container.list().kind != List::Kind::kIterator) {
    const std::vector<Value>& items = container.list().items;
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& other) { return Equal(runtime, other, item); });
  }
  if (!IsIterable(container)) {
    Fail("argument of type '{}' is not iterable", TypeName(container));
  }
  const std::vector<Value> items = Iterate(runtime, container);
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& other) { return Equal(runtime, other, item); });
}

std::size_t Length(Runtime& runtime, const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return 0;
    case Type::kString:
      runtime.StepBytes(8 * value.text().size());
      return CountCodePoints(value.bytes());
    case Type::kDict:
      return value.dict().size();
    case Type::kList:
      if (value.list().kind != List::Kind::kIterator) return value.list().items.size();
      break;
    default:
      break;
  }
  Fail("object of type '{}' has no len()", TypeName(value));
}

bool IsCallable(const Value& value) {
  return value.IsObject() && value.object().IsCallable();
}

bool IsIterable(const Value& value) {
  return value.IsUndefined() || value.IsString() || value.IsList() || value.IsDict();
}

std::vector<Value> Iterate(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  switch (value.type()) {
    case Type::kUndefined:
      return items;
    case Type::kString: {
      const OriginText& text = value.text();
      runtime.heap().Charge(text.size() * sizeof(Value));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = at + CodePointAt(text.bytes(), at).bytes;
        items.push_back(runtime.heap().NewText(text.Slice(at, next)));
        at = next;
      }
      return items;
    }
    case Type::kList: {
      List& list = value.list();
      if (list.kind == List::Kind::kIterator && std::exchange(list.consumed, true)) return items;
      runtime.StepBytes(list.items.size() * sizeof(Value));
      // Once more for what the caller makes of them.
      runtime.heap().Require(2 * list.items.size() * sizeof(Value));
      return list.items;
    }
    case Type::kDict:
      runtime.StepBytes(value.dict().size() * sizeof(Value));
      runtime.heap().Require(2 * value.dict().size() * sizeof(Value));
      for (const auto& [key, unused] : value.dict().entries()) items.push_back(key);
      return items;
    default:
      Fail("'{}' object is not iterable", TypeName(value));
  }
}

Value GetAttribute(Runtime& runtime, const Value& value, std::string_view name) {
  RequireDefined(value);
  if (const Value found = Attribute(runtime, value, name); !found.IsUndefined()) return found;
  if (value.IsDict()) {
    if (const Value* found = value.dict().Find(name)) return *found;
  }
  return MissingItem(runtime, value, name);
}

Value GetItem(Runtime& runtime, const Value& value, const Value& key) {
  RequireDefined(value);
  if (value.IsDict() && !key.IsUndefined() && !key.IsDict() &&
      !(key.IsList() && key.list().kind != List::Kind::kTuple)) {
    if (const Value* found = value.dict().Find(runtime, key)) return *found;
  } else if ((key.IsInt() || key.IsBool()) && value.IsList() && value.list().IsSequence()) {
    const std::vector<Value>& items = value.list().items;
    if (const auto at = Position(key.AsInt(), items.size())) return items[*at];
  } else if ((key.IsInt() || key.IsBool()) && value.IsString()) {
    if (const Value found = CharacterAt(runtime, value, key.AsInt()); !found.IsUndefined()) {
      return found;
    }
  }
  if (key.IsString()) {
    if (const Value found = Attribute(runtime, value, key.bytes()); !found.IsUndefined()) {
      return found;
    }
    return MissingItem(runtime, value, key.bytes());
  }
  return runtime.heap().NewUndefined(fmt::format("{} object has no such element", TypeName(value)));
}

Value GetPath(Runtime& runtime, const Value& value, const Value& path, const Value& otherwise) {
  const auto or_default = [&](const Value& found) {
    return found.IsUndefined() && !otherwise.IsUndefined() ? otherwise : found;
  };
  if (!path.IsString()) return or_default(GetItem(runtime, value, path));
  Value at = value;
  std::string_view rest = path.bytes();
  while (true) {
    const std::string_view step = rest.substr(0, rest.find('.'));
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    const bool is_index = error == std::errc() && end == step.data() + step.size();
    at = or_default(is_index ? GetItem(runtime, at, Value::Int(index))
                             : GetItem(runtime, at, runtime.heap().NewText(step)));
    if (step.size() == rest.size()) return at;
    rest.remove_prefix(step.size() + 1);
  }
}

Value Slice(Runtime& runtime, const Value& value, const SliceBounds& bounds) {
  RequireDefined(value);
  const bool is_text = value.IsString();
  if (!is_text && !(value.IsList() && value.list().IsSequence())) return Value();
  std::vector<std::size_t> offsets;  // of a text's characters, unless those are its bytes
  if (is_text) {
    runtime.StepBytes(value.text().size() * (IsAscii(value.bytes()) ? 1 : sizeof(std::size_t)));
    if (!IsAscii(value.bytes())) {
      runtime.heap().Require(value.text().size() * sizeof(std::size_t));
      offsets = CodePointOffsets(value.bytes());
    }
  }
  const auto length = static_cast<std::int64_t>(
      is_text ? (offsets.empty() ? value.text().size() : offsets.size() - 1)
              : value.list().items.size());
  const std::int64_t step = SlicePart(bounds.step, 1);
  if (step == 0) Fail("slice step cannot be zero");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? length : length - 1;
  const auto clamp = [&](const Value& part, std::int64_t otherwise) {
    std::int64_t index = SlicePart(part, otherwise);
    if (part.IsUndefined() || part.IsNone()) return index;
    if (index < 0) index = index < -length ? low : index + length;
    return std::clamp(index, low, high);
  };
  const std::int64_t start = clamp(bounds.start, step > 0 ? 0 : length - 1);
  const std::int64_t stop = clamp(bounds.stop, step > 0 ? length : -1);
  const auto byte = [&](std::int64_t index) {
    const auto at = static_cast<std::size_t>(index);
    return offsets.empty() ? at : offsets[at];
  };
  if (is_text && step == 1) {
    return runtime.heap().NewMarkupLike(
        value, start < stop ? value.text().Slice(byte(start), byte(stop)) : OriginText());
  }
  if (!is_text) runtime.heap().Require(value.list().items.size() * sizeof(Value));
  OriginText text;
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    runtime.Step();
    if (is_text) {
      text.AppendSlice(value.text(), byte(i), byte(i + 1));
    } else {
      items.push_back(value.list().items[static_cast<std::size_t>(i)]);
    }
    // Not i += step, which could overflow for absurd steps.
    if (step > 0 ? step > stop - i : step < stop - i) break;
    i += step;
  }
  if (is_text) return runtime.heap().NewMarkupLike(value, std::move(text));
  const bool is_tuple = value.list().kind == List::Kind::kTuple;
  return runtime.heap().NewList(std::move(items),
                                is_tuple ? List::Kind::kTuple : List::Kind::kList);
}

Value Call(Runtime& runtime, const Value& callee, const Arguments& arguments) {
  RequireDefined(callee);
  if (!callee.IsObject()) Fail("'{}' object is not callable", TypeName(callee));
  return callee.object().Call(runtime, arguments);
}

}  // namespace stoker::text::jinja
