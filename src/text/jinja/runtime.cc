#include "text/jinja/runtime.h"

#include "text/jinja/failure.h"
#include "text/jinja/globals.h"

namespace stoker::text::jinja {

const Value* Scope::Find(std::string_view name) const {
  for (const auto& [key, value] : names) {
    if (key == name) return &value;
  }
  return nullptr;
}

Runtime::Runtime(const RenderLimits& limits, std::optional<CivilTime> now)
    : limits_(limits), now_(now), heap_(limits.memory_bytes) {}

Value Runtime::Lookup(std::string_view name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    StepNames(scope->names.size());
    if (const Value* found = scope->Find(name)) return *found;
  }
  if (const Value* found = variables_.Find(name)) return *found;
  if (const std::optional<Value> global = FindGlobal(heap_, name)) return *global;
  return heap_.NewUndefined(fmt::format("'{}' is undefined", name));
}

void Runtime::Assign(std::string_view name, const Value& value) {
  std::vector<std::pair<std::string_view, Value>>& names = scope_->names;
  StepNames(names.size());
  for (auto& [key, old] : names) {
    if (key == name) {
      old = value;
      return;
    }
  }
  heap_.Charge(2 * sizeof(names[0]));
  names.emplace_back(name, value);
}

void Runtime::Write(std::string_view text, bool trusted) {
  heap_.Charge(text.size() + sizeof(std::size_t));
  output_->Append(text, trusted);
}

void Runtime::Write(const OriginText& text) {
  heap_.Charge(text.memory_bytes() + sizeof(std::size_t));
  output_->Append(text);
}

void Runtime::OutOfSteps() const {
  throw Failure{.code = absl::StatusCode::kResourceExhausted,
                .message = fmt::format("the template ran for more than {} steps", limits_.steps)};
}

void Runtime::TooDeep() const {
  throw Failure{
      .code = absl::StatusCode::kResourceExhausted,
      .message = fmt::format("the template is nested more than {} levels deep", limits_.depth)};
}

ScopeGuard::ScopeGuard(Runtime& runtime, Scope& parent)
    : runtime_(runtime), outer_(runtime.scope_) {
  if (runtime.free_scopes_.empty()) {
    runtime.heap_.Charge(sizeof(Scope) + 4 * sizeof(Value));
    runtime.free_scopes_.push_back(&runtime.scopes_.emplace_back());
  }
  Scope* const scope = runtime.free_scopes_.back();
  runtime.free_scopes_.pop_back();
  scope->parent = &parent;
  runtime.scope_ = scope;
}

ScopeGuard::~ScopeGuard() {
  Scope* const scope = std::exchange(runtime_.scope_, outer_);
  if (scope->captured) return;
  scope->names.clear();
  runtime_.free_scopes_.push_back(scope);
}

}  // namespace stoker::text::jinja
