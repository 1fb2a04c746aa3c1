#pragma once

#include "text/jinja/statements.h"

namespace stoker::text::jinja {

/// A macro, or the body of a call block, with the scope in which it was written.
class Macro : public Object {
 public:
  Macro(const MacroDefinition& definition, Scope& scope);

  [[nodiscard]] std::string_view TypeName() const override { return "Macro"; }
  [[nodiscard]] bool IsCallable() const override { return true; }
  const Value* Attribute(Runtime& runtime, std::string_view name) override;
  /// Returns what the body wrote.
  Value Call(Runtime& runtime, const Arguments& arguments) override;

 private:
  const MacroDefinition& definition_;
  Scope& scope_;
  Value attribute_;
};

}  // namespace stoker::text::jinja
