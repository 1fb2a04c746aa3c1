#include <algorithm>

#include "text/jinja/arithmetic.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

Value Default(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool keep = bound.Bool(1, false) ? Truthy(input) : !input.IsUndefined();
  if (keep) return input;
  const bool has_default = !arguments.positional.empty() || !bound[0].IsUndefined();
  return has_default ? bound[0] : runtime.heap().NewText("");
}

Value LengthFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  return Value::Int(static_cast<std::int64_t>(Length(runtime, input)));
}

Value ListFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  return runtime.heap().NewList(Iterate(runtime, input));
}

Value First(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  const std::vector<Value> items = Iterate(runtime, input);
  if (items.empty()) return runtime.heap().NewUndefined("No first item, sequence was empty.");
  return items.front();
}

void RequireReversible(const Value& input) {
  if (input.IsList() && input.list().kind == List::Kind::kIterator) {
    Fail("'generator' object is not reversible");
  }
}

Value Last(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  RequireReversible(input);
  const std::vector<Value> items = Iterate(runtime, input);
  if (items.empty()) return runtime.heap().NewUndefined("No last item, sequence was empty.");
  return items.back();
}

Value Reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (input.IsString()) {
    const OriginText& text = input.text();
    runtime.StepBytes(8 * text.size());
    OriginText out;
    for (std::size_t end = text.size(); end > 0;) {
      const std::size_t start = end - CodePointBefore(text.bytes(), end).bytes;
      out.AppendSlice(text, start, end);
      end = start;
    }
    return runtime.heap().NewMarkupLike(input, std::move(out));
  }
  std::vector<Value> items = Iterate(runtime, input);
  std::reverse(items.begin(), items.end());
  return runtime.heap().NewIterator(std::move(items));
}

Value Join(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const OriginText separator = bound[0].IsUndefined() ? OriginText() : ToText(runtime, bound[0]);
  OriginText joined;
  bool first = true;
  for (const Value& item : Iterate(runtime, input)) {
    const Value part = bound.Has(1) ? GetPath(runtime, item, bound[1]) : item;
    const OriginText text = ToText(runtime, part);
    runtime.heap().Charge(text.memory_bytes() + separator.memory_bytes());
    if (!first) joined.Append(separator);
    first = false;
    joined.Append(text);
  }
  return runtime.heap().NewText(std::move(joined));
}

Value Items(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  std::vector<Value> pairs;
  if (input.IsDict()) {
    for (const auto& [key, value] : input.dict().entries()) {
      pairs.push_back(runtime.heap().NewList({key, value}, List::Kind::kTuple));
    }
  } else if (!input.IsUndefined()) {
    Fail("Can only get item pairs from a mapping.");
  }
  return runtime.heap().NewIterator(std::move(pairs));
}

// Lists of `size` items; the last one is filled up where there is something to fill it with.
Value Batch(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = bound.Int(0, 1);
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : Iterate(runtime, input)) {
    if (std::cmp_equal(batch.size(), size)) {
      batches.push_back(runtime.heap().NewList(std::exchange(batch, {})));
    }
    batch.push_back(item);
  }
  if (!batch.empty()) {
    while (bound.Has(1) && std::cmp_less(batch.size(), size)) {
      runtime.heap().Charge(sizeof(Value));
      batch.push_back(bound[1]);
    }
    batches.push_back(runtime.heap().NewList(std::move(batch)));
  }
  return runtime.heap().NewIterator(std::move(batches));
}

Value Sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  Value sum = bound[1].IsUndefined() ? Value::Int(0) : bound[1];
  if (sum.IsString()) Fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : Iterate(runtime, input)) {
    const Value part = bound.Has(0) ? GetPath(runtime, item, bound[0]) : item;
    sum = Arithmetic(runtime, ArithmeticOp::kAdd, sum, part);
  }
  return sum;
}

}  // namespace

const FilterTable& SequenceFilters() {
  static const auto& filters = *new FilterTable{
      {"batch", Batch},         {"count", LengthFilter}, {"d", Default},       {"default", Default},
      {"first", First},         {"items", Items},        {"join", Join},       {"last", Last},
      {"length", LengthFilter}, {"list", ListFilter},    {"reverse", Reverse}, {"sum", Sum},
  };
  return filters;
}

}  // namespace stoker::text::jinja
