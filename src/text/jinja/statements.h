#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/expressions.h"

namespace stoker::text::jinja {

/// What a statement asks of the loop around it.
enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

/// A node of the syntax tree that writes output or changes names.
class Statement {
 public:
  explicit Statement(int line) : line_(line) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Flow Execute(Runtime& runtime) const {
    const DepthGuard guard(runtime);
    runtime.Step();
    runtime.set_line(line_);
    return Run(runtime);
  }
  [[nodiscard]] int line() const { return line_; }

 protected:
  virtual Flow Run(Runtime& runtime) const = 0;

 private:
  int line_;
};

using StatementPtr = std::unique_ptr<const Statement>;

/// Statements in a row; they stop at the first break or continue.
struct Block {
  std::vector<StatementPtr> statements;

  Flow Execute(Runtime& runtime) const;
};

/// What `set` and `for` assign to: a name, an attribute of a namespace, or several in a tuple.
struct Target {
  std::string name;
  OriginText attribute;       ///< of the namespace `name`, if not empty
  std::vector<Target> tuple;  ///< not empty: the parts of a tuple, and `name` is empty

  void Assign(Runtime& runtime, const Value& value) const;
};

class TextStatement : public Statement {
 public:
  TextStatement(int line, std::string text) : Statement(line), text_(std::move(text)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  std::string text_;
};

/// {{ expression }}
class PrintStatement : public Statement {
 public:
  PrintStatement(int line, ExpressionPtr expression)
      : Statement(line), expression_(std::move(expression)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  ExpressionPtr expression_;
};

class IfStatement : public Statement {
 public:
  using Branches = std::vector<std::pair<ExpressionPtr, Block>>;
  IfStatement(int line, Branches branches, Block otherwise)
      : Statement(line), branches_(std::move(branches)), otherwise_(std::move(otherwise)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  Branches branches_;
  Block otherwise_;
};

/// {% for target in items if condition %}body{% else %}otherwise{% endfor %}
class ForStatement : public Statement {
 public:
  struct Parts {
    Target target;
    ExpressionPtr items;
    ExpressionPtr condition;  ///< may be null
    Block body;
    Block otherwise;
  };
  ForStatement(int line, Parts parts) : Statement(line), parts_(std::move(parts)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  Parts parts_;
};

class SetStatement : public Statement {
 public:
  SetStatement(int line, Target target, ExpressionPtr value)
      : Statement(line), target_(std::move(target)), value_(std::move(value)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  Target target_;
  ExpressionPtr value_;
};

/// {% set target | filter %}body{% endset %}
class SetBlockStatement : public Statement {
 public:
  SetBlockStatement(int line, Target target, std::unique_ptr<const FilterExpression> filter,
                    Block body)
      : Statement(line),
        target_(std::move(target)),
        filter_(std::move(filter)),
        body_(std::move(body)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  Target target_;
  std::unique_ptr<const FilterExpression> filter_;  // null: as it is
  Block body_;
};

/// {% filter name %}body{% endfilter %}
class FilterStatement : public Statement {
 public:
  FilterStatement(int line, std::unique_ptr<const FilterExpression> filter, Block body)
      : Statement(line), filter_(std::move(filter)), body_(std::move(body)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  std::unique_ptr<const FilterExpression> filter_;
  Block body_;
};

/// {% with a = 1 %}body{% endwith %}, and {% generation %}body{% endgeneration %}, which only
/// marks the text for training.
class WithStatement : public Statement {
 public:
  using Bindings = std::vector<std::pair<Target, ExpressionPtr>>;
  WithStatement(int line, Bindings bindings, Block body)
      : Statement(line), bindings_(std::move(bindings)), body_(std::move(body)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  Bindings bindings_;
  Block body_;
};

/// The signature and body of a macro, or of a call block.
struct MacroDefinition {
  struct Parameter {
    std::string name;
    ExpressionPtr otherwise;  ///< null: there is no default
  };
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  bool takes_varargs = false;  ///< the body names `varargs`; likewise the others
  bool takes_kwargs = false;
  bool takes_caller = false;
};

class MacroStatement : public Statement {
 public:
  MacroStatement(int line, MacroDefinition definition)
      : Statement(line), definition_(std::move(definition)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  MacroDefinition definition_;
};

/// {% call(parameters) macro(arguments) %}body{% endcall %}
class CallStatement : public Statement {
 public:
  CallStatement(int line, std::unique_ptr<const CallExpression> call, MacroDefinition caller)
      : Statement(line), call_(std::move(call)), caller_(std::move(caller)) {}

 protected:
  Flow Run(Runtime& runtime) const override;

 private:
  std::unique_ptr<const CallExpression> call_;
  MacroDefinition caller_;
  OriginText parameter_{"caller", true};
};

/// {% break %} and {% continue %}
class FlowStatement : public Statement {
 public:
  FlowStatement(int line, Flow flow) : Statement(line), flow_(flow) {}

 protected:
  Flow Run(Runtime& /*runtime*/) const override { return flow_; }

 private:
  Flow flow_;
};

}  // namespace stoker::text::jinja
