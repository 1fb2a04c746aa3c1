#include "text/jinja/loop.h"

#include <limits>

#include "text/jinja/failure.h"
#include "text/jinja/operations.h"
#include "text/jinja/runtime.h"

namespace stoker::text::jinja {

// loop.cycle(a, b, …): the argument whose turn it is.
class LoopCycle : public Object {
 public:
  explicit LoopCycle(std::int64_t index) : index_(index) {}
  [[nodiscard]] std::string_view TypeName() const override { return "method"; }
  [[nodiscard]] bool IsCallable() const override { return true; }
  Value Call(Runtime& /*runtime*/, const Arguments& arguments) override {
    if (arguments.positional.empty()) Fail("no items for cycling given");
    const auto turn = static_cast<std::size_t>(index_) % arguments.positional.size();
    return arguments.positional[turn];
  }

 private:
  std::int64_t index_;
};

// loop.changed(a, …): whether it was called with other values the last time.
class LoopChanged : public Object {
 public:
  explicit LoopChanged(Loop& loop) : loop_(loop) {}
  [[nodiscard]] std::string_view TypeName() const override { return "method"; }
  [[nodiscard]] bool IsCallable() const override { return true; }
  Value Call(Runtime& runtime, const Arguments& arguments) override {
    const std::optional<std::vector<Value>>& last = loop_.last_changed_;
    bool same = last && last->size() == arguments.positional.size();
    for (std::size_t i = 0; same && i < last->size(); ++i) {
      same = Equal(runtime, (*last)[i], arguments.positional[i]);
    }
    runtime.heap().Charge(arguments.positional.size() * sizeof(Value));
    loop_.last_changed_ = arguments.positional;
    return Value::Bool(!same);
  }

 private:
  Loop& loop_;
};

Loop::Loop(Heap& heap, std::vector<Value> items, Condition condition)
    : heap_(heap), items_(std::move(items)), condition_(std::move(condition)) {
  heap_.Charge(items_.size() * sizeof(Value));
}

std::optional<Value> Loop::Next() {
  if (LookAhead(1) == 0) return std::nullopt;
  if (index_ >= 0) previous_ = current_;
  current_ = items_[ahead_++];
  ++index_;
  return current_;
}

void Loop::Close() {
  heap_.Release(items_.size() * sizeof(Value));
  items_ = std::vector<Value>();
  condition_ = nullptr;
  ahead_ = known_ = next_ = 0;
}

std::size_t Loop::LookAhead(std::size_t count) {
  while (known_ - ahead_ < count && next_ < items_.size()) {
    const Value item = items_[next_++];
    if (!condition_ || condition_(item)) items_[known_++] = item;
  }
  return known_ - ahead_;
}

const Value* Loop::Attribute(Runtime& runtime, std::string_view name) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const auto set = [this](const Value& value) {
    attribute_ = value;
    return &attribute_;
  };
  const auto left = [this] { return static_cast<std::int64_t>(LookAhead(kAll)); };
  if (name == "index") return set(Value::Int(index_ + 1));
  if (name == "index0") return set(Value::Int(index_));
  if (name == "first") return set(Value::Bool(index_ == 0));
  if (name == "last") return set(Value::Bool(LookAhead(1) == 0));
  if (name == "length") return set(Value::Int(index_ + 1 + left()));
  if (name == "revindex") return set(Value::Int(left() + 1));
  if (name == "revindex0") return set(Value::Int(left()));
  if (name == "depth") return set(Value::Int(1));
  if (name == "depth0") return set(Value::Int(0));
  if (name == "previtem") {
    return set(previous_ ? *previous_ : runtime.heap().NewUndefined("there is no previous item"));
  }
  if (name == "nextitem") {
    return set(LookAhead(1) > 0 ? items_[ahead_]
                                : runtime.heap().NewUndefined("there is no next item"));
  }
  if (name == "cycle") return set(Value::Of(&runtime.heap().New<LoopCycle>(index_)));
  if (name == "changed") return set(Value::Of(&runtime.heap().New<LoopChanged>(*this)));
  return nullptr;
}

}  // namespace stoker::text::jinja
