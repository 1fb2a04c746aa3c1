#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/arithmetic.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// A node of the syntax tree that has a value. Trees are built by the parser, never change, and
/// can be evaluated by several threads at once, each with its own Runtime.
class Expression {
 public:
  explicit Expression(int line) : line_(line) {}
  virtual ~Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// The value; counts the step and the depth. Throws Failure.
  Value Evaluate(Runtime& runtime) const {
    const DepthGuard guard(runtime);
    runtime.Step();
    return Compute(runtime);
  }
  [[nodiscard]] int line() const { return line_; }

 protected:
  virtual Value Compute(Runtime& runtime) const = 0;

 private:
  int line_;
};

using ExpressionPtr = std::unique_ptr<const Expression>;

/// The arguments of a call, filter, test or macro call as written.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<OriginText, ExpressionPtr>> named;
  ExpressionPtr unpacked_list;  ///< *list
  ExpressionPtr unpacked_dict;  ///< **dict

  [[nodiscard]] Arguments Evaluate(Runtime& runtime) const;
};

class StringLiteral : public Expression {
 public:
  StringLiteral(int line, std::string text) : Expression(line), text_(std::move(text), true) {}

 protected:
  Value Compute(Runtime& /*runtime*/) const override { return Value::Of(&text_); }

 private:
  OriginText text_;
};

/// A number, boolean or none.
class ScalarLiteral : public Expression {
 public:
  ScalarLiteral(int line, const Value& value) : Expression(line), value_(value) {}

 protected:
  Value Compute(Runtime& /*runtime*/) const override { return value_; }

 private:
  Value value_;
};

class NameExpression : public Expression {
 public:
  NameExpression(int line, std::string name) : Expression(line), name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  Value Compute(Runtime& runtime) const override { return runtime.Lookup(name_); }

 private:
  std::string name_;
};

class ListExpression : public Expression {
 public:
  ListExpression(int line, List::Kind kind, std::vector<ExpressionPtr> items)
      : Expression(line), kind_(kind), items_(std::move(items)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  List::Kind kind_;
  std::vector<ExpressionPtr> items_;
};

class DictExpression : public Expression {
 public:
  using Entries = std::vector<std::pair<ExpressionPtr, ExpressionPtr>>;
  DictExpression(int line, Entries entries) : Expression(line), entries_(std::move(entries)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  Entries entries_;
};

class AttributeExpression : public Expression {
 public:
  AttributeExpression(int line, ExpressionPtr object, std::string name)
      : Expression(line), object_(std::move(object)), name_(std::move(name)) {}
  [[nodiscard]] const Expression& object() const { return *object_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr object_;
  std::string name_;
};

class ItemExpression : public Expression {
 public:
  ItemExpression(int line, ExpressionPtr object, ExpressionPtr key)
      : Expression(line), object_(std::move(object)), key_(std::move(key)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr object_;
  ExpressionPtr key_;
};

/// object[start:stop:step], each part optional.
class SliceExpression : public Expression {
 public:
  SliceExpression(int line, ExpressionPtr object, ExpressionPtr start, ExpressionPtr stop,
                  ExpressionPtr step)
      : Expression(line),
        object_(std::move(object)),
        start_(std::move(start)),
        stop_(std::move(stop)),
        step_(std::move(step)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr object_;
  ExpressionPtr start_;
  ExpressionPtr stop_;
  ExpressionPtr step_;
};

class CallExpression : public Expression {
 public:
  CallExpression(int line, ExpressionPtr callee, CallArguments arguments)
      : Expression(line), callee_(std::move(callee)), arguments_(std::move(arguments)) {}
  [[nodiscard]] const Expression& callee() const { return *callee_; }

  /// Calls with one more named argument, as {% call %} does.
  Value CallWith(Runtime& runtime, const std::optional<NamedArgument>& extra) const;

 protected:
  Value Compute(Runtime& runtime) const override { return CallWith(runtime, std::nullopt); }

 private:
  ExpressionPtr callee_;
  CallArguments arguments_;
};

/// input | name(arguments)
class FilterExpression : public Expression {
 public:
  /// A null input is the text that a filter block captured.
  FilterExpression(int line, ExpressionPtr input, std::string name, CallArguments arguments)
      : Expression(line),
        input_(std::move(input)),
        name_(std::move(name)),
        arguments_(std::move(arguments)) {}

  /// The filter applied to `captured`, where the innermost input was null.
  Value Apply(Runtime& runtime, const Value& captured) const;

 protected:
  Value Compute(Runtime& runtime) const override { return Apply(runtime, Value()); }

 private:
  ExpressionPtr input_;
  std::string name_;
  CallArguments arguments_;
};

/// input is name(arguments), or is not
class TestExpression : public Expression {
 public:
  TestExpression(int line, ExpressionPtr input, std::string name, CallArguments arguments,
                 bool negated)
      : Expression(line),
        input_(std::move(input)),
        name_(std::move(name)),
        arguments_(std::move(arguments)),
        negated_(negated) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr input_;
  std::string name_;
  CallArguments arguments_;
  bool negated_;
};

enum class UnaryOp : std::uint8_t { kNot, kMinus, kPlus };

class UnaryExpression : public Expression {
 public:
  UnaryExpression(int line, UnaryOp op, ExpressionPtr operand)
      : Expression(line), op_(op), operand_(std::move(operand)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  UnaryOp op_;
  ExpressionPtr operand_;
};

class ArithmeticExpression : public Expression {
 public:
  ArithmeticExpression(int line, ArithmeticOp op, ExpressionPtr left, ExpressionPtr right)
      : Expression(line), op_(op), left_(std::move(left)), right_(std::move(right)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ArithmeticOp op_;
  ExpressionPtr left_;
  ExpressionPtr right_;
};

/// a ~ b ~ …
class ConcatExpression : public Expression {
 public:
  ConcatExpression(int line, std::vector<ExpressionPtr> parts)
      : Expression(line), parts_(std::move(parts)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  std::vector<ExpressionPtr> parts_;
};

enum class CompareOp : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

/// first OP second OP third …, each pair compared as in Python
class CompareExpression : public Expression {
 public:
  using Links = std::vector<std::pair<CompareOp, ExpressionPtr>>;
  CompareExpression(int line, ExpressionPtr first, Links links)
      : Expression(line), first_(std::move(first)), links_(std::move(links)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr first_;
  Links links_;
};

/// left and right, left or right: the operand that decided.
class LogicalExpression : public Expression {
 public:
  LogicalExpression(int line, bool is_and, ExpressionPtr left, ExpressionPtr right)
      : Expression(line), is_and_(is_and), left_(std::move(left)), right_(std::move(right)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  bool is_and_;
  ExpressionPtr left_;
  ExpressionPtr right_;
};

/// value if condition else otherwise; without else the value is undefined.
class ConditionalExpression : public Expression {
 public:
  ConditionalExpression(int line, ExpressionPtr condition, ExpressionPtr value,
                        ExpressionPtr otherwise)
      : Expression(line),
        condition_(std::move(condition)),
        value_(std::move(value)),
        otherwise_(std::move(otherwise)) {}

 protected:
  Value Compute(Runtime& runtime) const override;

 private:
  ExpressionPtr condition_;
  ExpressionPtr value_;
  ExpressionPtr otherwise_;
};

}  // namespace stoker::text::jinja
