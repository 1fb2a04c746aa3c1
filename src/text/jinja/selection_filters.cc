#include <algorithm>
#include <numeric>

#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/tests.h"
#include "text/jinja/text_functions.h"

namespace stoker::text::jinja {
namespace {

Arguments Without(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

const std::string& NameArgument(const Arguments& arguments, std::size_t i) {
  if (!arguments.positional[i].IsString()) Fail("expected a name as a string");
  return arguments.positional[i].bytes();
}

// map(attribute='name', default=…) or map('filter', arguments…)
Value Map(Runtime& runtime, const Value& input, const Arguments& arguments) {
  std::vector<Value> mapped;
  if (!Truthy(input)) return runtime.heap().NewIterator({});  // None too
  if (arguments.positional.empty()) {
    const Bound bound("map", arguments, {"attribute", "default"});
    if (bound[0].IsUndefined()) Fail("map requires a filter argument");
    for (const Value& item : Iterate(runtime, input)) {
      mapped.push_back(GetPath(runtime, item, bound[0], bound[1]));
    }
  } else {
    const std::string& filter = NameArgument(arguments, 0);
    const Arguments rest = Without(arguments, 1);
    for (const Value& item : Iterate(runtime, input)) {
      mapped.push_back(ApplyFilter(runtime, filter, item, rest));
    }
  }
  return runtime.heap().NewIterator(std::move(mapped));
}

// select('test', arguments…), with_attribute: selectattr('name', 'test', arguments…)
template <bool with_attribute, bool wanted>
Value SelectFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  constexpr std::size_t kTest = with_attribute ? 1 : 0;
  if (arguments.positional.size() < kTest) Fail("missing parameter for attribute name");
  const bool has_test = arguments.positional.size() > kTest;
  const Arguments rest = has_test ? Without(arguments, kTest + 1) : Arguments();
  std::vector<Value> selected;
  if (!Truthy(input)) return runtime.heap().NewIterator({});  // None too
  for (const Value& item : Iterate(runtime, input)) {
    const Value value = with_attribute ? GetPath(runtime, item, arguments.positional[0]) : item;
    const bool holds =
        has_test ? RunTest(runtime, NameArgument(arguments, kTest), value, rest) : Truthy(value);
    if (holds == wanted) selected.push_back(item);
  }
  return runtime.heap().NewIterator(std::move(selected));
}

// What an item is sorted or compared by.
class SortKey {
 public:
  SortKey(Runtime& runtime, const Value& attribute, bool case_sensitive)
      : runtime_(runtime), case_sensitive_(case_sensitive) {
    if (attribute.IsUndefined() || attribute.IsNone()) return;
    if (!attribute.IsString()) {
      paths_.push_back(attribute);
      return;
    }
    std::string_view rest = attribute.bytes();
    while (true) {
      const std::string_view path = rest.substr(0, rest.find(','));
      paths_.push_back(runtime.heap().NewText(path));
      if (path.size() == rest.size()) break;
      rest.remove_prefix(path.size() + 1);
    }
  }

  Value Of(const Value& item) const {
    if (paths_.empty()) return Folded(item);
    if (paths_.size() == 1) return Folded(GetPath(runtime_, item, paths_[0]));
    std::vector<Value> keys;
    keys.reserve(paths_.size());
    for (const Value& path : paths_) keys.push_back(Folded(GetPath(runtime_, item, path)));
    return runtime_.heap().NewList(std::move(keys));
  }

 private:
  [[nodiscard]] Value Folded(const Value& value) const {
    if (case_sensitive_ || !value.IsString()) return value;
    runtime_.StepBytes(8 * value.text().size());
    return runtime_.heap().NewText(ChangeCase(value.text(), Case::kLower));
  }

  Runtime& runtime_;
  bool case_sensitive_;
  std::vector<Value> paths_;  // none: the item itself
};

// The order in which stable sorting by key puts the items.
std::vector<Value> Sorted(Runtime& runtime, const std::vector<Value>& items, const SortKey& key,
                          bool reverse) {
  runtime.heap().Require(items.size() * (2 * sizeof(Value) + 2 * sizeof(std::size_t)));
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) keys.push_back(key.Of(item));
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? SortsBefore(runtime, keys[b], keys[a])
                   : SortsBefore(runtime, keys[a], keys[b]);
  });
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const std::size_t i : order) sorted.push_back(items[i]);
  return sorted;
}

Value Sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const SortKey key(runtime, bound[2], bound.Bool(1, false));
  return runtime.heap().NewList(
      Sorted(runtime, Iterate(runtime, input), key, bound.Bool(0, false)));
}

Value DictSort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (!input.IsDict()) Fail("dictsort needs a mapping, not {}", TypeName(input));
  const std::string by = bound.Has(1) ? bound.Text(1).bytes() : "key";
  if (by != "key" && by != "value") Fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> pairs;
  for (const auto& [key, value] : input.dict().entries()) {
    pairs.push_back(runtime.heap().NewList({key, value}, List::Kind::kTuple));
  }
  const SortKey key(runtime, Value::Int(by == "key" ? 0 : 1), bound.Bool(0, false));
  return runtime.heap().NewList(Sorted(runtime, pairs, key, bound.Bool(2, false)));
}

Value Unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const SortKey key(runtime, bound[1], bound.Bool(0, false));
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : Iterate(runtime, input)) {
    const Value of = key.Of(item);
    if (seen.Find(runtime, of) != nullptr) continue;
    seen.Set(runtime, of, Value());
    kept.push_back(item);
  }
  return runtime.heap().NewIterator(std::move(kept));
}

// min and max: the first of those that nothing beats.
template <FunctionName name, bool wants_least>
Value Extreme(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"case_sensitive", "attribute"});
  const SortKey key(runtime, bound[1], bound.Bool(0, false));
  std::optional<Value> best;
  Value best_key;
  for (const Value& item : Iterate(runtime, input)) {
    const Value of = key.Of(item);
    const auto beats = [&] {
      return wants_least ? std::is_lt(Compare(runtime, "<", of, best_key))
                         : std::is_gt(Compare(runtime, ">", of, best_key));
    };
    if (best && !beats()) continue;
    best = item;
    best_key = of;
  }
  return best ? *best : runtime.heap().NewUndefined("No aggregated item, sequence was empty.");
}

Value GroupBy(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const SortKey key(runtime, bound[0], bound.Bool(2, false));
  std::vector<Value> items = Sorted(runtime, Iterate(runtime, input), key, false);
  std::vector<Value> groups;
  for (std::size_t start = 0; start < items.size();) {
    const Value group_key = key.Of(items[start]);
    std::size_t end = start + 1;
    while (end < items.size() && Equal(runtime, key.Of(items[end]), group_key)) ++end;
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(start);
    const auto last = items.begin() + static_cast<std::ptrdiff_t>(end);
    const Value members = runtime.heap().NewList(std::vector<Value>(first, last));
    groups.push_back(runtime.heap().NewList({GetPath(runtime, items[start], bound[0]), members},
                                            List::Kind::kTuple));
    start = end;
  }
  return runtime.heap().NewList(std::move(groups));
}

}  // namespace

const FilterTable& SelectionFilters() {
  static const auto& filters = *new FilterTable{
      {"dictsort", DictSort},
      {"groupby", GroupBy},
      {"map", Map},
      {"max", Extreme<"max", false>},
      {"min", Extreme<"min", true>},
      {"reject", SelectFilter<false, false>},
      {"rejectattr", SelectFilter<true, false>},
      {"select", SelectFilter<false, true>},
      {"selectattr", SelectFilter<true, true>},
      {"sort", Sort},
      {"unique", Unique},
  };
  return filters;
}

}  // namespace stoker::text::jinja
