#include "text/jinja/parser.h"

#include <algorithm>
#include <map>

#include "text/jinja/expression_parser.h"

namespace stoker::text::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(Tokenise(source)), expressions_(tokens_) {}

  Block Run() {
    Block block = ParseUntil({});
    return block;
  }

 private:
  // Statements up to a block tag of one of the names, whose name is left as the current token; or
  // to the end of the template, where there are no names.
  Block ParseUntil(Names ends);
  StatementPtr ParseStatement();
  StatementPtr ParseIf();
  StatementPtr ParseFor();
  StatementPtr ParseSet();
  StatementPtr ParseMacro();
  StatementPtr ParseCall();
  StatementPtr ParseFilter();
  StatementPtr ParseWith();
  StatementPtr ParseGeneration();
  StatementPtr ParseFlow(Flow flow);
  void ParseParameters(MacroDefinition& definition);
  Block ParseMacroBody(MacroDefinition& definition, std::string_view end);
  Target ParseTarget();
  Target ParseTargetItem();
  // The rest of a block: `%}`, its statements, the end tag.
  Block ParseBody(std::string_view end);
  void CloseTag() { tokens_.Expect(TokenKind::kBlockEnd); }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;  // for statements around the current place, within the same macro
};

Block Parser::ParseUntil(Names ends) {
  const ExpressionParser::Nesting nesting(expressions_);
  Block block;
  while (true) {
    const int line = tokens_.line();
    expressions_.StartTag();
    switch (tokens_.current().kind) {
      case TokenKind::kText:
        block.statements.push_back(std::make_unique<TextStatement>(line, tokens_.Next().text));
        break;
      case TokenKind::kVariableBegin:
        tokens_.Next();
        block.statements.push_back(
            std::make_unique<PrintStatement>(line, expressions_.ParseTuple()));
        tokens_.Expect(TokenKind::kVariableEnd);
        break;
      case TokenKind::kBlockBegin:
        tokens_.Next();
        if (tokens_.IsAnyName(ends)) return block;
        block.statements.push_back(ParseStatement());
        break;
      default:
        if (ends.size() == 0) return block;
        FailAt(line, "unexpected end of the template: no '{}'", *(ends.end() - 1));
    }
  }
}

StatementPtr Parser::ParseStatement() {
  static const auto& parsers = *new std::map<std::string_view, StatementPtr (Parser::*)()>{
      {"call", &Parser::ParseCall}, {"filter", &Parser::ParseFilter},
      {"for", &Parser::ParseFor},   {"generation", &Parser::ParseGeneration},
      {"if", &Parser::ParseIf},     {"macro", &Parser::ParseMacro},
      {"set", &Parser::ParseSet},   {"with", &Parser::ParseWith},
  };
  const std::string name = tokens_.current().text;
  const int line = tokens_.line();
  if (tokens_.SkipName("break")) return ParseFlow(Flow::kBreak);
  if (tokens_.SkipName("continue")) return ParseFlow(Flow::kContinue);
  const auto found = tokens_.Is(TokenKind::kName) ? parsers.find(name) : parsers.end();
  if (found == parsers.end()) {
    FailAt(line, "unknown tag {}", TokenStream::Describe(tokens_.current()));
  }
  tokens_.Next();
  return (this->*found->second)();
}

Block Parser::ParseBody(std::string_view end) {
  CloseTag();
  Block body = ParseUntil({end});
  tokens_.ExpectName(end);
  CloseTag();
  return body;
}

StatementPtr Parser::ParseIf() {
  const int line = tokens_.line();
  IfStatement::Branches branches;
  Block otherwise;
  do {
    ExpressionPtr condition = expressions_.ParseTuple(false);
    CloseTag();
    branches.emplace_back(std::move(condition), ParseUntil({"elif", "else", "endif"}));
  } while (tokens_.SkipName("elif"));
  if (tokens_.SkipName("else")) {
    CloseTag();
    otherwise = ParseUntil({"endif"});
  }
  tokens_.ExpectName("endif");
  CloseTag();
  return std::make_unique<IfStatement>(line, std::move(branches), std::move(otherwise));
}

StatementPtr Parser::ParseFor() {
  const int line = tokens_.line();
  ForStatement::Parts parts;
  parts.target = ParseTarget();
  tokens_.ExpectName("in");
  parts.items = expressions_.ParseTuple(false);
  if (tokens_.SkipName("if")) parts.condition = expressions_.ParseExpression();
  if (tokens_.IsName("recursive")) FailAt(line, "recursive loops are not supported");
  CloseTag();
  ++loops_;
  parts.body = ParseUntil({"else", "endfor"});
  --loops_;
  if (tokens_.SkipName("else")) {
    CloseTag();
    parts.otherwise = ParseUntil({"endfor"});
  }
  tokens_.ExpectName("endfor");
  CloseTag();
  return std::make_unique<ForStatement>(line, std::move(parts));
}

StatementPtr Parser::ParseFlow(Flow flow) {
  const int line = tokens_.line();
  if (loops_ == 0) {
    FailAt(line, "'{}' outside of a loop", flow == Flow::kBreak ? "break" : "continue");
  }
  CloseTag();
  return std::make_unique<FlowStatement>(line, flow);
}

StatementPtr Parser::ParseSet() {
  const int line = tokens_.line();
  Target target = ParseTarget();
  if (tokens_.SkipOperator("=")) {
    ExpressionPtr value = expressions_.ParseTuple();
    CloseTag();
    return std::make_unique<SetStatement>(line, std::move(target), std::move(value));
  }
  std::unique_ptr<const FilterExpression> filter;
  if (tokens_.SkipOperator("|")) filter = expressions_.ParseFilterChain();
  Block body = ParseBody("endset");
  return std::make_unique<SetBlockStatement>(line, std::move(target), std::move(filter),
                                             std::move(body));
}

Target Parser::ParseTarget() {
  Target target = ParseTargetItem();
  if (!tokens_.IsOperator(",")) return target;
  Target tuple;
  tuple.tuple.push_back(std::move(target));
  while (tokens_.SkipOperator(",")) {
    if (tokens_.IsName("in") || tokens_.IsOperator("=") || tokens_.IsOperator(")")) break;
    tuple.tuple.push_back(ParseTargetItem());
  }
  return tuple;
}

Target Parser::ParseTargetItem() {
  const ExpressionParser::Nesting nesting(expressions_);
  if (tokens_.SkipOperator("(")) {
    Target inner = ParseTarget();
    tokens_.ExpectOperator(")");
    return inner;
  }
  const int line = tokens_.line();
  Target target;
  target.name = tokens_.ExpectAnyName();
  static constexpr std::string_view kReserved[] = {"true", "false", "none",
                                                   "True", "False", "None"};
  if (std::ranges::find(kReserved, target.name) != std::end(kReserved)) {
    FailAt(line, "cannot assign to '{}'", target.name);
  }
  if (tokens_.SkipOperator(".")) target.attribute = OriginText(tokens_.ExpectAnyName(), true);
  return target;
}

void Parser::ParseParameters(MacroDefinition& definition) {
  tokens_.ExpectOperator("(");
  while (!tokens_.SkipOperator(")")) {
    if (!definition.parameters.empty()) {
      tokens_.ExpectOperator(",");
      if (tokens_.SkipOperator(")")) break;
    }
    const int line = tokens_.line();
    MacroDefinition::Parameter parameter{.name = tokens_.ExpectAnyName(), .otherwise = nullptr};
    if (tokens_.SkipOperator("=")) {
      parameter.otherwise = expressions_.ParseExpression();
    } else if (!definition.parameters.empty() &&
               definition.parameters.back().otherwise != nullptr) {
      FailAt(line, "non-default argument follows default argument");
    }
    definition.parameters.push_back(std::move(parameter));
  }
}

Block Parser::ParseMacroBody(MacroDefinition& definition, std::string_view end) {
  const int outer_loops = std::exchange(loops_, 0);
  const ExpressionParser::SpecialNames outer = std::exchange(expressions_.special_names(), {});
  Block body = ParseBody(end);
  const ExpressionParser::SpecialNames used = expressions_.special_names();
  const auto is_parameter = [&](std::string_view name) {
    return std::any_of(definition.parameters.begin(), definition.parameters.end(),
                       [&](const auto& parameter) { return parameter.name == name; });
  };
  definition.takes_varargs = used.varargs && !is_parameter("varargs");
  definition.takes_kwargs = used.kwargs && !is_parameter("kwargs");
  definition.takes_caller = used.caller && !is_parameter("caller");
  expressions_.special_names() = {.varargs = outer.varargs || used.varargs,
                                  .kwargs = outer.kwargs || used.kwargs,
                                  .caller = outer.caller || used.caller};
  loops_ = outer_loops;
  return body;
}

StatementPtr Parser::ParseMacro() {
  const int line = tokens_.line();
  MacroDefinition definition;
  definition.name = tokens_.ExpectAnyName();
  ParseParameters(definition);
  definition.body = ParseMacroBody(definition, "endmacro");
  return std::make_unique<MacroStatement>(line, std::move(definition));
}

StatementPtr Parser::ParseCall() {
  const int line = tokens_.line();
  MacroDefinition caller;
  caller.name = "caller";
  if (tokens_.IsOperator("(")) ParseParameters(caller);
  ExpressionPtr callee = expressions_.ParseCallable();
  if (dynamic_cast<const CallExpression*>(callee.get()) == nullptr) {
    FailAt(line, "expected a call after 'call'");
  }
  std::unique_ptr<const CallExpression> call(static_cast<const CallExpression*>(callee.release()));
  caller.body = ParseMacroBody(caller, "endcall");
  return std::make_unique<CallStatement>(line, std::move(call), std::move(caller));
}

StatementPtr Parser::ParseFilter() {
  const int line = tokens_.line();
  std::unique_ptr<const FilterExpression> filter = expressions_.ParseFilterChain();
  Block body = ParseBody("endfilter");
  return std::make_unique<FilterStatement>(line, std::move(filter), std::move(body));
}

StatementPtr Parser::ParseWith() {
  const int line = tokens_.line();
  WithStatement::Bindings bindings;
  while (!tokens_.Is(TokenKind::kBlockEnd)) {
    if (!bindings.empty()) tokens_.ExpectOperator(",");
    Target target = ParseTargetItem();
    tokens_.ExpectOperator("=");
    bindings.emplace_back(std::move(target), expressions_.ParseExpression());
  }
  Block body = ParseBody("endwith");
  return std::make_unique<WithStatement>(line, std::move(bindings), std::move(body));
}

StatementPtr Parser::ParseGeneration() {
  const int line = tokens_.line();
  Block body = ParseBody("endgeneration");
  return std::make_unique<WithStatement>(line, WithStatement::Bindings(), std::move(body));
}

}  // namespace

Block ParseTemplate(std::string_view source) {
  return Parser(source).Run();
}

}  // namespace stoker::text::jinja
