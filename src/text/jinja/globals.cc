#include "text/jinja/globals.h"

#include <map>

#include "text/jinja/arguments.h"
#include "text/jinja/failure.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"

namespace stoker::text::jinja {
namespace {

using Function = Value (*)(Runtime& runtime, const Arguments& arguments);

class GlobalFunction : public Object {
 public:
  explicit GlobalFunction(Function function) : function_(function) {}
  [[nodiscard]] std::string_view TypeName() const override { return "function"; }
  [[nodiscard]] bool IsCallable() const override { return true; }
  // Python makes a subscript of `dict` an alias of it, and jinja2 tries a subscript where there is
  // no attribute: published templates call dict.from_keys, which is dict.
  const Value* Attribute(Runtime& runtime, std::string_view name) override;
  Value Call(Runtime& runtime, const Arguments& arguments) override {
    return function_(runtime, arguments);
  }

 private:
  Function function_;
  Value self_ = Value::Of(this);
};

// The sandbox of jinja2 has the same limit.
constexpr std::int64_t kLongestRange = 100000;

Value Range(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  const bool only_stop = arguments.positional.size() + arguments.named.size() == 1;
  const std::int64_t start = only_stop ? 0 : bound.Int(0, 0);
  const std::int64_t stop = only_stop ? bound.Int(0, 0) : bound.Int(1, 0);
  const std::int64_t step = bound.Int(2, 1);
  if (step == 0) Fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    runtime.Step();
    if (std::cmp_greater_equal(items.size(), kLongestRange)) {
      Fail("range too big: more than {} items", kLongestRange);
    }
    items.push_back(Value::Int(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  const Value range = runtime.heap().NewList(std::move(items), List::Kind::kRange);
  range.list().range = {start, stop, step};
  return range;
}

void FillDict(Runtime& runtime, Dict& dict, const Arguments& arguments) {
  FindDictMethod("update")(runtime, Value::Of(&dict), arguments);
}

Value MakeDict(Runtime& runtime, const Arguments& arguments) {
  Dict& dict = runtime.heap().NewDict();
  FillDict(runtime, dict, arguments);
  return Value::Of(&dict);
}

Value MakeNamespace(Runtime& runtime, const Arguments& arguments) {
  auto& made = runtime.heap().New<Namespace>();
  FillDict(runtime, made.attributes(), arguments);
  return Value::Of(&made);
}

Value RaiseException(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  Fail("{}", ToText(runtime, bound[0]).bytes());
}

Value StrftimeNow(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  if (!runtime.now()) Fail("strftime_now: the caller gave the template no clock");
  const OriginText& format = bound.Text(0);
  runtime.heap().Charge(32 * format.size());  // no directive prints more than 30 characters
  return runtime.heap().NewText(
      OriginText(FormatTime(format.bytes(), *runtime.now()), format.Trusted(0, format.size())));
}

const Value* GlobalFunction::Attribute(Runtime& /*runtime*/, std::string_view /*name*/) {
  return function_ == MakeDict ? &self_ : nullptr;
}

}  // namespace

std::optional<Value> FindGlobal(Heap& heap, std::string_view name) {
  static const auto& functions = *new std::map<std::string_view, Function>{
      {"dict", MakeDict}, {"namespace", MakeNamespace},  {"raise_exception", RaiseException},
      {"range", Range},   {"strftime_now", StrftimeNow},
  };
  const auto found = functions.find(name);
  if (found == functions.end()) return std::nullopt;
  return Value::Of(&heap.New<GlobalFunction>(found->second));
}

}  // namespace stoker::text::jinja
