#include "text/jinja/tests.h"

#include <map>

#include "text/jinja/arguments.h"
#include "text/jinja/arithmetic.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"

namespace stoker::text::jinja {
namespace {

using Test = bool (*)(Runtime& runtime, const Value& input, const Arguments& arguments);

const Value& Operand(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    Fail("a test that compares needs exactly one argument");
  }
  return arguments.positional[0];
}

template <bool (Value::*is)() const>
bool TypeTest(Runtime& /*runtime*/, const Value& input, const Arguments& /*arguments*/) {
  return (input.*is)();
}

bool Remainder(Runtime& runtime, const Value& input, std::int64_t divisor, std::int64_t wanted) {
  const Value rest = Arithmetic(runtime, ArithmeticOp::kModulo, input, Value::Int(divisor));
  return Equal(runtime, rest, Value::Int(wanted));
}

bool IsSequence(Runtime& /*runtime*/, const Value& input, const Arguments& /*arguments*/) {
  return input.IsString() || input.IsDict() || (input.IsList() && input.list().IsSequence());
}

bool CaseTest(Runtime& runtime, const Value& input, std::string_view method) {
  const Value text = ToStringValue(runtime, input);
  return FindStringMethod(method)(runtime, text, {}).boolean();
}

const std::map<std::string_view, Test>& Tests() {
  static const auto& tests = *new std::map<std::string_view, Test>{
      {"boolean", TypeTest<&Value::IsBool>},
      {"callable",
       [](Runtime&, const Value& input, const Arguments&) { return IsCallable(input); }},
      {"defined",
       [](Runtime&, const Value& input, const Arguments&) { return !input.IsUndefined(); }},
      {"divisibleby",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         const Value rest = Arithmetic(runtime, ArithmeticOp::kModulo, input, Operand(arguments));
         return Equal(runtime, rest, Value::Int(0));
       }},
      {"eq", [](Runtime& runtime, const Value& input,
                const Arguments& arguments) { return Equal(runtime, input, Operand(arguments)); }},
      {"even", [](Runtime& runtime, const Value& input,
                  const Arguments&) { return Remainder(runtime, input, 2, 0); }},
      {"false", [](Runtime&, const Value& input,
                   const Arguments&) { return input.IsBool() && !input.boolean(); }},
      {"filter", [](Runtime&, const Value& input,
                    const Arguments&) { return input.IsString() && IsFilter(input.bytes()); }},
      {"float", TypeTest<&Value::IsFloat>},
      {"ge",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return std::is_gteq(Compare(runtime, ">=", input, Operand(arguments)));
       }},
      {"gt",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return std::is_gt(Compare(runtime, ">", input, Operand(arguments)));
       }},
      {"in",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return Contains(runtime, Operand(arguments), input);
       }},
      {"integer", TypeTest<&Value::IsInt>},
      {"iterable",
       [](Runtime&, const Value& input, const Arguments&) { return IsIterable(input); }},
      {"le",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return std::is_lteq(Compare(runtime, "<=", input, Operand(arguments)));
       }},
      {"lower", [](Runtime& runtime, const Value& input,
                   const Arguments&) { return CaseTest(runtime, input, "islower"); }},
      {"lt",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return std::is_lt(Compare(runtime, "<", input, Operand(arguments)));
       }},
      {"mapping", TypeTest<&Value::IsDict>},
      {"ne", [](Runtime& runtime, const Value& input,
                const Arguments& arguments) { return !Equal(runtime, input, Operand(arguments)); }},
      {"none", TypeTest<&Value::IsNone>},
      {"number", TypeTest<&Value::IsNumber>},
      {"odd", [](Runtime& runtime, const Value& input,
                 const Arguments&) { return Remainder(runtime, input, 2, 1); }},
      {"sameas",
       [](Runtime& runtime, const Value& input, const Arguments& arguments) {
         return input.type() == Operand(arguments).type() &&
                Equal(runtime, input, Operand(arguments));
       }},
      {"sequence", IsSequence},
      {"string", TypeTest<&Value::IsString>},
      {"true", [](Runtime&, const Value& input,
                  const Arguments&) { return input.IsBool() && input.boolean(); }},
      {"undefined", TypeTest<&Value::IsUndefined>},
      {"upper", [](Runtime& runtime, const Value& input,
                   const Arguments&) { return CaseTest(runtime, input, "isupper"); }},
  };
  return tests;
}

}  // namespace

bool RunTest(Runtime& runtime, std::string_view name, const Value& input,
             const Arguments& arguments) {
  runtime.Step();
  static const auto& aliases = *new std::map<std::string_view, std::string_view>{
      {"==", "eq"},       {"equalto", "eq"}, {"!=", "ne"}, {"<", "lt"},          {"<=", "le"},
      {"lessthan", "lt"}, {">", "gt"},       {">=", "ge"}, {"greaterthan", "gt"}};
  if (const auto alias = aliases.find(name); alias != aliases.end()) {
    name = alias->second;
  }
  const auto found = Tests().find(name);
  if (found == Tests().end()) Fail("no test named '{}'", name);
  return found->second(runtime, input, arguments);
}

}  // namespace stoker::text::jinja
