#include "text/jinja/expressions.h"

#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/tests.h"

namespace stoker::text::jinja {
namespace {

bool Holds(Runtime& runtime, CompareOp op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOp::kEq:
      return Equal(runtime, left, right);
    case CompareOp::kNe:
      return !Equal(runtime, left, right);
    case CompareOp::kLt:
      return std::is_lt(Compare(runtime, "<", left, right));
    case CompareOp::kLe:
      return std::is_lteq(Compare(runtime, "<=", left, right));
    case CompareOp::kGt:
      return std::is_gt(Compare(runtime, ">", left, right));
    case CompareOp::kGe:
      return std::is_gteq(Compare(runtime, ">=", left, right));
    case CompareOp::kIn:
      return Contains(runtime, right, left);
    case CompareOp::kNotIn:
      return !Contains(runtime, right, left);
  }
  return false;
}

Value OrUndefined(const ExpressionPtr& expression, Runtime& runtime) {
  return expression != nullptr ? expression->Evaluate(runtime) : Value();
}

}  // namespace

Arguments CallArguments::Evaluate(Runtime& runtime) const {
  Arguments values;
  for (const ExpressionPtr& argument : positional) {
    values.positional.push_back(argument->Evaluate(runtime));
  }
  for (const auto& [name, argument] : named) {
    values.named.push_back({Value::Of(&name), argument->Evaluate(runtime)});
  }
  if (unpacked_list != nullptr) {
    for (const Value& item : Iterate(runtime, unpacked_list->Evaluate(runtime))) {
      values.positional.push_back(item);
    }
  }
  if (unpacked_dict != nullptr) {
    const Value dict = unpacked_dict->Evaluate(runtime);
    if (!dict.IsDict()) Fail("argument after ** must be a mapping, not {}", TypeName(dict));
    runtime.StepBytes(dict.dict().size() * sizeof(NamedArgument));
    runtime.heap().Require(dict.dict().size() * sizeof(NamedArgument));
    for (const auto& [key, value] : dict.dict().entries()) {
      if (!key.IsString()) Fail("keywords must be strings");
      values.named.push_back({key, value});
    }
  }
  return values;
}

Value ListExpression::Compute(Runtime& runtime) const {
  std::vector<Value> items;
  items.reserve(items_.size());
  for (const ExpressionPtr& item : items_) items.push_back(item->Evaluate(runtime));
  return runtime.heap().NewList(std::move(items), kind_);
}

Value DictExpression::Compute(Runtime& runtime) const {
  Dict& dict = runtime.heap().NewDict();
  for (const auto& [key, value] : entries_) {
    const Value evaluated_key = key->Evaluate(runtime);
    dict.Set(runtime, evaluated_key, value->Evaluate(runtime));
  }
  return Value::Of(&dict);
}

Value AttributeExpression::Compute(Runtime& runtime) const {
  const Value object = object_->Evaluate(runtime);
  runtime.set_line(line());
  return GetAttribute(runtime, object, name_);
}

Value ItemExpression::Compute(Runtime& runtime) const {
  const Value object = object_->Evaluate(runtime);
  const Value key = key_->Evaluate(runtime);
  runtime.set_line(line());
  return GetItem(runtime, object, key);
}

Value SliceExpression::Compute(Runtime& runtime) const {
  const Value object = object_->Evaluate(runtime);
  const SliceBounds bounds{OrUndefined(start_, runtime), OrUndefined(stop_, runtime),
                           OrUndefined(step_, runtime)};
  runtime.set_line(line());
  return Slice(runtime, object, bounds);
}

Value CallExpression::CallWith(Runtime& runtime, const std::optional<NamedArgument>& extra) const {
  // A method is called without first making an object of it.
  const auto* const attribute = dynamic_cast<const AttributeExpression*>(callee_.get());
  const Value target =
      attribute != nullptr ? attribute->object().Evaluate(runtime) : callee_->Evaluate(runtime);
  Arguments arguments = arguments_.Evaluate(runtime);
  if (extra) arguments.named.push_back(*extra);
  runtime.set_line(line());
  if (attribute == nullptr) return Call(runtime, target, arguments);
  if (const Method method = FindMethod(target, attribute->name())) {
    return method(runtime, target, arguments);
  }
  return Call(runtime, GetAttribute(runtime, target, attribute->name()), arguments);
}

Value FilterExpression::Apply(Runtime& runtime, const Value& captured) const {
  Value input = captured;
  if (const auto* const inner = dynamic_cast<const FilterExpression*>(input_.get())) {
    const DepthGuard guard(runtime);
    input = inner->Apply(runtime, captured);
  } else if (input_ != nullptr) {
    input = input_->Evaluate(runtime);
  }
  const Arguments arguments = arguments_.Evaluate(runtime);
  runtime.set_line(line());
  return ApplyFilter(runtime, name_, input, arguments);
}

Value TestExpression::Compute(Runtime& runtime) const {
  const Value input = input_->Evaluate(runtime);
  const Arguments arguments = arguments_.Evaluate(runtime);
  runtime.set_line(line());
  return Value::Bool(RunTest(runtime, name_, input, arguments) != negated_);
}

Value UnaryExpression::Compute(Runtime& runtime) const {
  const Value operand = operand_->Evaluate(runtime);
  runtime.set_line(line());
  switch (op_) {
    case UnaryOp::kMinus:
      return Negate(operand);
    case UnaryOp::kPlus:
      return Positive(operand);
    case UnaryOp::kNot:
      break;
  }
  return Value::Bool(!Truthy(operand));
}

Value ArithmeticExpression::Compute(Runtime& runtime) const {
  const Value left = left_->Evaluate(runtime);
  const Value right = right_->Evaluate(runtime);
  runtime.set_line(line());
  return Arithmetic(runtime, op_, left, right);
}

Value ConcatExpression::Compute(Runtime& runtime) const {
  std::vector<Value> parts;
  parts.reserve(parts_.size());
  for (const ExpressionPtr& part : parts_) parts.push_back(part->Evaluate(runtime));
  return Concatenate(runtime, parts);
}

Value CompareExpression::Compute(Runtime& runtime) const {
  Value left = first_->Evaluate(runtime);
  for (const auto& [op, operand] : links_) {
    const Value right = operand->Evaluate(runtime);
    runtime.set_line(line());
    if (!Holds(runtime, op, left, right)) return Value::Bool(false);
    left = right;
  }
  return Value::Bool(true);
}

Value LogicalExpression::Compute(Runtime& runtime) const {
  const Value left = left_->Evaluate(runtime);
  return Truthy(left) == is_and_ ? right_->Evaluate(runtime) : left;
}

Value ConditionalExpression::Compute(Runtime& runtime) const {
  if (Truthy(condition_->Evaluate(runtime))) return value_->Evaluate(runtime);
  if (otherwise_ != nullptr) return otherwise_->Evaluate(runtime);
  return runtime.heap().NewUndefined(
      "the inline if-expression evaluated to false and no else section was defined");
}

}  // namespace stoker::text::jinja
