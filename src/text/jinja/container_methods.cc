#include <algorithm>
#include <map>

#include "text/jinja/arguments.h"
#include "text/jinja/failure.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"

namespace stoker::text::jinja {
namespace {

void RequireMutable(const Value& list, std::string_view method) {
  if (list.list().kind != List::Kind::kList) {
    Fail("'{}' object has no attribute '{}'", TypeName(list), method);
  }
}

// The place before which list.insert puts things: never outside the list.
std::ptrdiff_t InsertionPoint(std::int64_t index, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (index < 0) index = index < -length ? 0 : index + length;
  return static_cast<std::ptrdiff_t>(std::min(index, length));
}

Value ListAppend(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("append", arguments, {"object"}, 1);
  RequireMutable(self, "append");
  runtime.heap().Append(self.list(), bound[0]);
  return Value::None();
}

Value ListExtend(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("extend", arguments, {"iterable"}, 1);
  RequireMutable(self, "extend");
  for (const Value& item : Iterate(runtime, bound[0])) runtime.heap().Append(self.list(), item);
  return Value::None();
}

Value ListInsert(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("insert", arguments, {"index", "object"}, 2);
  RequireMutable(self, "insert");
  std::vector<Value>& items = self.list().items;
  runtime.heap().Charge(2 * sizeof(Value));
  runtime.StepBytes(items.size() * sizeof(Value));
  items.insert(items.begin() + InsertionPoint(bound.Int(0, 0), items.size()), bound[1]);
  return Value::None();
}

Value ListPop(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("pop", arguments, {"index"});
  RequireMutable(self, "pop");
  std::vector<Value>& items = self.list().items;
  if (items.empty()) Fail("pop from empty list");
  std::int64_t index = bound.Int(0, -1);
  if (index < 0) index += static_cast<std::int64_t>(items.size());
  if (index < 0 || std::cmp_greater_equal(index, items.size())) Fail("pop index out of range");
  runtime.StepBytes(items.size() * sizeof(Value));
  const auto at = items.begin() + static_cast<std::ptrdiff_t>(index);
  const Value popped = *at;
  items.erase(at);
  return popped;
}

Value ListClear(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("clear", arguments, {});
  RequireMutable(self, "clear");
  self.list().items.clear();
  return Value::None();
}

Value ListCopy(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  return runtime.heap().NewList(Iterate(runtime, self));
}

Value ListReverse(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  RequireMutable(self, "reverse");
  runtime.StepBytes(self.list().items.size() * sizeof(Value));
  std::reverse(self.list().items.begin(), self.list().items.end());
  return Value::None();
}

Value ListIndex(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("index", arguments, {"value"}, 1);
  const std::vector<Value>& items = self.list().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (Equal(runtime, items[i], bound[0])) return Value::Int(static_cast<std::int64_t>(i));
  }
  Fail("the value is not in the list");
}

Value ListCount(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  const std::vector<Value>& items = self.list().items;
  return Value::Int(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return Equal(runtime, item, bound[0]);
  }));
}

enum class Part : std::uint8_t { kKeys, kValues, kItems };

template <FunctionName name, Part part>
Value DictView(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {});
  std::vector<Value> items;
  runtime.StepBytes(self.dict().size() * sizeof(Value));
  runtime.heap().Require(self.dict().size() * sizeof(Value));
  for (const auto& [key, value] : self.dict().entries()) {
    items.push_back(part == Part::kKeys ? key
                    : part == Part::kValues
                        ? value
                        : runtime.heap().NewList({key, value}, List::Kind::kTuple));
  }
  return runtime.heap().NewList(std::move(items), List::Kind::kView);
}

Value DictGet(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  if (bound[0].IsUndefined()) return bound[1].IsUndefined() ? Value::None() : bound[1];
  if (const Value* found = self.dict().Find(runtime, bound[0])) return *found;
  const bool has_default = arguments.positional.size() + arguments.named.size() > 1;
  return has_default ? bound[1] : Value::None();
}

Value DictUpdate(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (arguments.positional.size() > 1) Fail("update expected at most 1 argument");
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.IsDict()) {
      const std::vector<Dict::Entry> entries = from.dict().entries();
      for (const auto& [key, value] : entries) self.dict().Set(runtime, key, value);
    } else {
      for (const Value& item : Iterate(runtime, from)) {
        const std::vector<Value> pair = Iterate(runtime, item);
        if (pair.size() != 2) Fail("dictionary update sequence element does not have length 2");
        self.dict().Set(runtime, pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) self.dict().Set(runtime, name, value);
  return Value::None();
}

Value DictPop(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("pop", arguments, {"key", "default"}, 1);
  runtime.StepBytes(self.dict().size() * sizeof(Dict::Entry));
  if (const Value* found = self.dict().Find(runtime, bound[0])) {
    const Value popped = *found;
    self.dict().Erase(runtime, bound[0]);
    return popped;
  }
  if (arguments.positional.size() + arguments.named.size() > 1) return bound[1];
  Fail("the key to pop is not in the dict");
}

Value DictSetDefault(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("setdefault", arguments, {"key", "default"}, 1);
  if (const Value* found = self.dict().Find(runtime, bound[0])) return *found;
  const Value value = bound[1].IsUndefined() ? Value::None() : bound[1];
  self.dict().Set(runtime, bound[0], value);
  return value;
}

Value DictCopy(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  Dict& copy = runtime.heap().NewDict();
  for (const auto& [key, value] : self.dict().entries()) copy.Set(runtime, key, value);
  return Value::Of(&copy);
}

Value DictClear(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("clear", arguments, {});
  self.dict().Clear();
  return Value::None();
}

using Table = std::map<std::string_view, Method>;

Method Find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

Method FindListMethod(std::string_view name) {
  static const auto& methods = *new Table{
      {"append", ListAppend}, {"clear", ListClear},   {"copy", ListCopy},
      {"count", ListCount},   {"extend", ListExtend}, {"index", ListIndex},
      {"insert", ListInsert}, {"pop", ListPop},       {"reverse", ListReverse},
  };
  return Find(methods, name);
}

Method FindDictMethod(std::string_view name) {
  static const auto& methods = *new Table{
      {"clear", DictClear},
      {"copy", DictCopy},
      {"get", DictGet},
      {"items", DictView<"items", Part::kItems>},
      {"keys", DictView<"keys", Part::kKeys>},
      {"pop", DictPop},
      {"setdefault", DictSetDefault},
      {"update", DictUpdate},
      {"values", DictView<"values", Part::kValues>},
  };
  return Find(methods, name);
}

Method FindMethod(const Value& value, std::string_view name) {
  if (value.IsString()) return FindStringMethod(name);
  if (value.IsDict()) return FindDictMethod(name);
  if (!value.IsList()) return nullptr;
  switch (value.list().kind) {
    case List::Kind::kList:
      return FindListMethod(name);
    case List::Kind::kTuple:
    case List::Kind::kRange:
      return name == "index" || name == "count" ? FindListMethod(name) : nullptr;
    case List::Kind::kView:
    case List::Kind::kIterator:
      break;
  }
  return nullptr;
}

}  // namespace stoker::text::jinja
