#include "text/jinja/macro.h"

#include <algorithm>

#include "text/jinja/failure.h"

namespace stoker::text::jinja {
namespace {

// Takes the named argument out of `named`, if it is there.
std::optional<Value> Take(Runtime& runtime, std::vector<NamedArgument>& named,
                          std::string_view name) {
  runtime.StepBytes(named.size() * sizeof(NamedArgument));
  const auto found = std::find_if(named.begin(), named.end(), [&](const NamedArgument& argument) {
    return argument.name.bytes() == name;
  });
  if (found == named.end()) return std::nullopt;
  const Value value = found->value;
  named.erase(found);
  return value;
}

}  // namespace

Macro::Macro(const MacroDefinition& definition, Scope& scope)
    : definition_(definition), scope_(scope) {
  // The macro may be called after its block has ended, so all scopes around it have to stay.
  for (Scope* outer = &scope; outer != nullptr && !outer->captured; outer = outer->parent) {
    outer->captured = true;
  }
}

const Value* Macro::Attribute(Runtime& runtime, std::string_view name) {
  if (name != "name") return nullptr;
  attribute_ = runtime.heap().NewText(definition_.name);
  return &attribute_;
}

Value Macro::Call(Runtime& runtime, const Arguments& arguments) {
  const DepthGuard depth(runtime);
  const ScopeGuard guard(runtime, scope_);
  const std::vector<MacroDefinition::Parameter>& parameters = definition_.parameters;
  std::vector<NamedArgument> named = arguments.named;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const MacroDefinition::Parameter& parameter = parameters[i];
    if (i < arguments.positional.size()) {
      runtime.Assign(parameter.name, arguments.positional[i]);
    } else if (const std::optional<Value> value = Take(runtime, named, parameter.name)) {
      runtime.Assign(parameter.name, *value);
    } else if (parameter.otherwise != nullptr) {
      runtime.Assign(parameter.name, parameter.otherwise->Evaluate(runtime));
    } else {
      runtime.Assign(parameter.name, runtime.heap().NewUndefined(fmt::format(
                                         "parameter '{}' was not provided", parameter.name)));
    }
  }
  if (definition_.takes_caller) {
    const std::optional<Value> caller = Take(runtime, named, "caller");
    runtime.Assign("caller", caller ? *caller : runtime.heap().NewUndefined("No caller defined"));
  }
  if (definition_.takes_kwargs) {
    Dict& kwargs = runtime.heap().NewDict();
    for (const auto& [name, value] : named) kwargs.Set(runtime, name, value);
    runtime.Assign("kwargs", Value::Of(&kwargs));
  } else if (!named.empty()) {
    Fail("macro '{}' takes no keyword argument '{}'", definition_.name, named[0].name.bytes());
  }
  const std::size_t taken = std::min(parameters.size(), arguments.positional.size());
  if (definition_.takes_varargs) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken),
                            arguments.positional.end());
    runtime.Assign("varargs", runtime.heap().NewList(std::move(rest), List::Kind::kTuple));
  } else if (arguments.positional.size() > taken) {
    Fail("macro '{}' takes not more than {} argument(s)", definition_.name, parameters.size());
  }
  return runtime.heap().NewText(runtime.Capture([&] { definition_.body.Execute(runtime); }));
}

}  // namespace stoker::text::jinja
