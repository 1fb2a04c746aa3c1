#include "text/jinja/statements.h"

#include "text/jinja/failure.h"
#include "text/jinja/globals.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"

namespace stoker::text::jinja {

Flow Block::Execute(Runtime& runtime) const {
  for (const StatementPtr& statement : statements) {
    if (const Flow flow = statement->Execute(runtime); flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

void Target::Assign(Runtime& runtime, const Value& value) const {
  if (!tuple.empty()) {
    const std::vector<Value> items = Iterate(runtime, value);
    if (items.size() < tuple.size()) {
      Fail("not enough values to unpack (expected {}, got {})", tuple.size(), items.size());
    }
    if (items.size() > tuple.size()) {
      Fail("too many values to unpack (expected {})", tuple.size());
    }
    for (std::size_t i = 0; i < tuple.size(); ++i) tuple[i].Assign(runtime, items[i]);
  } else if (attribute.empty()) {
    runtime.Assign(name, value);
  } else {
    const Value object = runtime.Lookup(name);
    auto* const space = object.IsObject() ? dynamic_cast<Namespace*>(&object.object()) : nullptr;
    if (space == nullptr) Fail("cannot assign attribute on non-namespace object");
    space->attributes().Set(runtime, Value::Of(&attribute), value);
  }
}

Flow TextStatement::Run(Runtime& runtime) const {
  runtime.Write(text_, true);
  return Flow::kNext;
}

Flow PrintStatement::Run(Runtime& runtime) const {
  const Value value = expression_->Evaluate(runtime);
  if (value.IsString()) {
    runtime.Write(value.text());
  } else {
    runtime.Write(ToText(runtime, value));
  }
  return Flow::kNext;
}

Flow IfStatement::Run(Runtime& runtime) const {
  for (const auto& [condition, body] : branches_) {
    if (Truthy(condition->Evaluate(runtime))) return body.Execute(runtime);
  }
  return otherwise_.Execute(runtime);
}

Flow ForStatement::Run(Runtime& runtime) const {
  Scope& outer = runtime.scope();
  Loop::Condition condition;
  if (parts_.condition != nullptr) {
    condition = [this, &runtime, &outer](const Value& item) {
      const ScopeGuard guard(runtime, outer);
      parts_.target.Assign(runtime, item);
      return Truthy(parts_.condition->Evaluate(runtime));
    };
  }
  const Value items = parts_.items->Evaluate(runtime);
  runtime.set_line(line());
  auto& loop =
      runtime.heap().New<Loop>(runtime.heap(), Iterate(runtime, items), std::move(condition));
  bool is_empty = true;
  while (const std::optional<Value> item = loop.Next()) {
    is_empty = false;
    const ScopeGuard guard(runtime, outer);
    runtime.Step();
    runtime.Assign("loop", Value::Of(&loop));
    parts_.target.Assign(runtime, *item);
    if (parts_.body.Execute(runtime) == Flow::kBreak) break;
  }
  loop.Close();
  if (!is_empty) return Flow::kNext;
  const ScopeGuard guard(runtime, outer);
  return parts_.otherwise.Execute(runtime);
}

Flow SetStatement::Run(Runtime& runtime) const {
  const Value value = value_->Evaluate(runtime);
  runtime.set_line(line());
  target_.Assign(runtime, value);
  return Flow::kNext;
}

Flow SetBlockStatement::Run(Runtime& runtime) const {
  Flow flow = Flow::kNext;
  Value value;
  {
    const ScopeGuard guard(runtime, runtime.scope());
    value = runtime.heap().NewText(runtime.Capture([&] { flow = body_.Execute(runtime); }));
    if (filter_ != nullptr) value = filter_->Apply(runtime, value);
  }
  target_.Assign(runtime, value);
  return flow;
}

Flow FilterStatement::Run(Runtime& runtime) const {
  const ScopeGuard guard(runtime, runtime.scope());
  Flow flow = Flow::kNext;
  const Value text =
      runtime.heap().NewText(runtime.Capture([&] { flow = body_.Execute(runtime); }));
  runtime.Write(ToText(runtime, filter_->Apply(runtime, text)));
  return flow;
}

Flow WithStatement::Run(Runtime& runtime) const {
  std::vector<Value> values;
  values.reserve(bindings_.size());
  for (const auto& [target, expression] : bindings_) {
    values.push_back(expression->Evaluate(runtime));
  }
  const ScopeGuard guard(runtime, runtime.scope());
  for (std::size_t i = 0; i < values.size(); ++i) bindings_[i].first.Assign(runtime, values[i]);
  return body_.Execute(runtime);
}

Flow MacroStatement::Run(Runtime& runtime) const {
  const Value macro = Value::Of(&runtime.heap().New<Macro>(definition_, runtime.scope()));
  runtime.Assign(definition_.name, macro);
  return Flow::kNext;
}

Flow CallStatement::Run(Runtime& runtime) const {
  const Value caller = Value::Of(&runtime.heap().New<Macro>(caller_, runtime.scope()));
  const Value result = call_->CallWith(runtime, NamedArgument{Value::Of(&parameter_), caller});
  runtime.Write(ToText(runtime, result));
  return Flow::kNext;
}

}  // namespace stoker::text::jinja
