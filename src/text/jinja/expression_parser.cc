#include "text/jinja/expression_parser.h"

#include <charconv>
#include <map>

namespace stoker::text::jinja {
namespace {

constexpr int kDeepestNesting = 100;
constexpr int kMostLinks = 1000;

template <typename Op>
std::optional<Op> FindOperator(const TokenStream& tokens,
                               std::initializer_list<std::pair<std::string_view, Op>> operators) {
  for (const auto& [symbol, op] : operators) {
    if (tokens.IsOperator(symbol)) return op;
  }
  return std::nullopt;
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kDeepestNesting) {
    FailAt(parser_.tokens_.line(), "nested more than {} levels deep", kDeepestNesting);
  }
}

void ExpressionParser::CountLink() {
  if (++links_in_tag_ > kMostLinks) {
    FailAt(tokens_.line(), "more than {} operators in one tag", kMostLinks);
  }
}

ExpressionPtr ExpressionParser::ParseTuple(bool with_conditional) {
  const int line = tokens_.line();
  const auto at_end = [&] {
    return tokens_.Is(TokenKind::kVariableEnd) || tokens_.Is(TokenKind::kBlockEnd) ||
           tokens_.IsOperator(")") || tokens_.IsName("in");
  };
  const auto item = [&] { return with_conditional ? ParseExpression() : ParseOr(); };
  ExpressionPtr first = item();
  if (!tokens_.IsOperator(",")) return first;
  std::vector<ExpressionPtr> items;
  items.push_back(std::move(first));
  while (tokens_.SkipOperator(",") && !at_end()) items.push_back(item());
  return std::make_unique<ListExpression>(line, List::Kind::kTuple, std::move(items));
}

ExpressionPtr ExpressionParser::ParseConditional(bool allowed) {
  const Nesting nesting(*this);
  ExpressionPtr value = ParseOr();
  while (allowed && tokens_.IsName("if")) {
    CountLink();
    const int line = tokens_.Next().line;
    ExpressionPtr condition = ParseOr();
    ExpressionPtr otherwise;
    if (tokens_.SkipName("else")) otherwise = ParseConditional(true);
    value = std::make_unique<ConditionalExpression>(line, std::move(condition), std::move(value),
                                                    std::move(otherwise));
  }
  return value;
}

ExpressionPtr ExpressionParser::ParseOr() {
  ExpressionPtr left = ParseAnd();
  while (tokens_.IsName("or")) {
    CountLink();
    const int line = tokens_.Next().line;
    left = std::make_unique<LogicalExpression>(line, false, std::move(left), ParseAnd());
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseAnd() {
  ExpressionPtr left = ParseNot();
  while (tokens_.IsName("and")) {
    CountLink();
    const int line = tokens_.Next().line;
    left = std::make_unique<LogicalExpression>(line, true, std::move(left), ParseNot());
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseNot() {
  if (!tokens_.IsName("not")) return ParseCompare();
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  return std::make_unique<UnaryExpression>(line, UnaryOp::kNot, ParseNot());
}

ExpressionPtr ExpressionParser::ParseCompare() {
  const int line = tokens_.line();
  ExpressionPtr first = ParseSum();
  CompareExpression::Links links;
  while (true) {
    CompareOp op{};
    if (const auto found = FindOperator<CompareOp>(tokens_, {{"==", CompareOp::kEq},
                                                             {"!=", CompareOp::kNe},
                                                             {"<", CompareOp::kLt},
                                                             {"<=", CompareOp::kLe},
                                                             {">", CompareOp::kGt},
                                                             {">=", CompareOp::kGe}})) {
      op = *found;
    } else if (tokens_.IsName("in")) {
      op = CompareOp::kIn;
    } else if (tokens_.IsName("not") && tokens_.ahead().kind == TokenKind::kName &&
               tokens_.ahead().text == "in") {
      tokens_.Next();
      op = CompareOp::kNotIn;
    } else {
      break;
    }
    tokens_.Next();
    links.emplace_back(op, ParseSum());
  }
  if (links.empty()) return first;
  return std::make_unique<CompareExpression>(line, std::move(first), std::move(links));
}

ExpressionPtr ExpressionParser::ParseSum() {
  ExpressionPtr left = ParseConcat();
  while (const auto op = FindOperator<ArithmeticOp>(
             tokens_, {{"+", ArithmeticOp::kAdd}, {"-", ArithmeticOp::kSubtract}})) {
    CountLink();
    const ArithmeticOp chosen = *op;
    const int line = tokens_.Next().line;
    left = std::make_unique<ArithmeticExpression>(line, chosen, std::move(left), ParseConcat());
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseConcat() {
  const int line = tokens_.line();
  ExpressionPtr first = ParseProduct();
  if (!tokens_.IsOperator("~")) return first;
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(first));
  while (tokens_.SkipOperator("~")) parts.push_back(ParseProduct());
  return std::make_unique<ConcatExpression>(line, std::move(parts));
}

ExpressionPtr ExpressionParser::ParseProduct() {
  ExpressionPtr left = ParsePower();
  while (const auto op = FindOperator<ArithmeticOp>(tokens_, {{"*", ArithmeticOp::kMultiply},
                                                              {"/", ArithmeticOp::kDivide},
                                                              {"//", ArithmeticOp::kFloorDivide},
                                                              {"%", ArithmeticOp::kModulo}})) {
    CountLink();
    const ArithmeticOp chosen = *op;
    const int line = tokens_.Next().line;
    left = std::make_unique<ArithmeticExpression>(line, chosen, std::move(left), ParsePower());
  }
  return left;
}

ExpressionPtr ExpressionParser::ParsePower() {
  ExpressionPtr left = ParseUnary(true);
  while (tokens_.IsOperator("**")) {
    CountLink();
    const int line = tokens_.Next().line;
    left = std::make_unique<ArithmeticExpression>(line, ArithmeticOp::kPower, std::move(left),
                                                  ParseUnary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseUnary(bool with_filters) {
  ExpressionPtr node;
  if (const auto op =
          FindOperator<UnaryOp>(tokens_, {{"-", UnaryOp::kMinus}, {"+", UnaryOp::kPlus}})) {
    const Nesting nesting(*this);
    const UnaryOp chosen = *op;
    const int line = tokens_.Next().line;
    node = std::make_unique<UnaryExpression>(line, chosen, ParseUnary(false));
  } else {
    node = ParsePrimary();
  }
  node = ParsePostfixes(std::move(node));
  return with_filters ? ParseFiltersAndTests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::ParsePrimary() {
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kString:
      return ParseString();
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseNumber();
    default:
      break;
  }
  if (tokens_.IsOperator("(")) return ParseParenthesised();
  if (tokens_.IsOperator("[")) return ParseList();
  if (tokens_.IsOperator("{")) return ParseDict();
  tokens_.Unexpected("an expression");
}

ExpressionPtr ExpressionParser::ParseName() {
  const Token& token = tokens_.Next();
  const auto scalar = [&](const Value& value) {
    return std::make_unique<ScalarLiteral>(token.line, value);
  };
  if (token.text == "true" || token.text == "True") return scalar(Value::Bool(true));
  if (token.text == "false" || token.text == "False") return scalar(Value::Bool(false));
  if (token.text == "none" || token.text == "None") return scalar(Value::None());
  special_names_.varargs = special_names_.varargs || token.text == "varargs";
  special_names_.kwargs = special_names_.kwargs || token.text == "kwargs";
  special_names_.caller = special_names_.caller || token.text == "caller";
  return std::make_unique<NameExpression>(token.line, token.text);
}

ExpressionPtr ExpressionParser::ParseString() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.Is(TokenKind::kString)) text += tokens_.Next().text;
  return std::make_unique<StringLiteral>(line, std::move(text));
}

ExpressionPtr ExpressionParser::ParseNumber() {
  const Token& token = tokens_.Next();
  std::string_view digits = token.text;
  std::from_chars_result result{};
  Value value;
  if (token.kind == TokenKind::kFloat) {
    double real = 0;
    result = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    value = Value::Float(real);
  } else {
    static const auto& bases = *new std::map<std::string_view, int>{
        {"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8}, {"0b", 2}, {"0B", 2}};
    int base = 10;
    if (const auto found = bases.find(digits.substr(0, 2)); found != bases.end()) {
      base = found->second;
      digits.remove_prefix(2);
    }
    std::int64_t integer = 0;
    result = std::from_chars(digits.data(), digits.data() + digits.size(), integer, base);
    value = Value::Int(integer);
  }
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
    FailAt(token.line, "'{}' is not a number of 64 bits", token.text.substr(0, 40));
  }
  return std::make_unique<ScalarLiteral>(token.line, value);
}

ExpressionPtr ExpressionParser::ParseParenthesised() {
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  if (tokens_.SkipOperator(")")) {
    return std::make_unique<ListExpression>(line, List::Kind::kTuple, std::vector<ExpressionPtr>());
  }
  ExpressionPtr inner = ParseTuple();
  tokens_.ExpectOperator(")");
  return inner;
}

ExpressionPtr ExpressionParser::ParseList() {
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  std::vector<ExpressionPtr> items;
  while (!tokens_.SkipOperator("]")) {
    if (!items.empty()) {
      tokens_.ExpectOperator(",");
      if (tokens_.SkipOperator("]")) break;
    }
    items.push_back(ParseExpression());
  }
  return std::make_unique<ListExpression>(line, List::Kind::kList, std::move(items));
}

ExpressionPtr ExpressionParser::ParseDict() {
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  DictExpression::Entries entries;
  while (!tokens_.SkipOperator("}")) {
    if (!entries.empty()) {
      tokens_.ExpectOperator(",");
      if (tokens_.SkipOperator("}")) break;
    }
    ExpressionPtr key = ParseExpression();
    tokens_.ExpectOperator(":");
    entries.emplace_back(std::move(key), ParseExpression());
  }
  return std::make_unique<DictExpression>(line, std::move(entries));
}

ExpressionPtr ExpressionParser::ParseCallable() {
  return ParsePostfixes(ParsePrimary());
}

ExpressionPtr ExpressionParser::ParsePostfixes(ExpressionPtr node) {
  for (;; CountLink()) {
    if (tokens_.IsOperator(".")) {
      node = ParseAttribute(std::move(node));
    } else if (tokens_.IsOperator("[")) {
      node = ParseSubscript(std::move(node));
    } else if (tokens_.IsOperator("(")) {
      const int line = tokens_.line();
      node = std::make_unique<CallExpression>(line, std::move(node), ParseArguments());
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::ParseFiltersAndTests(ExpressionPtr node) {
  for (;; CountLink()) {
    if (tokens_.SkipOperator("|")) {
      node = ParseFilter(std::move(node));
    } else if (tokens_.IsName("is")) {
      node = ParseTest(std::move(node));
    } else if (tokens_.IsOperator("(")) {
      const int line = tokens_.line();
      node = std::make_unique<CallExpression>(line, std::move(node), ParseArguments());
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::ParseAttribute(ExpressionPtr node) {
  const int line = tokens_.Next().line;
  if (tokens_.Is(TokenKind::kName)) {
    return std::make_unique<AttributeExpression>(line, std::move(node), tokens_.Next().text);
  }
  if (tokens_.Is(TokenKind::kInteger)) {
    return std::make_unique<ItemExpression>(line, std::move(node), ParseNumber());
  }
  tokens_.Unexpected("a name or a number");
}

ExpressionPtr ExpressionParser::ParseSubscript(ExpressionPtr node) {
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  ExpressionPtr key;
  if (!tokens_.IsOperator(":")) key = ParseExpression();
  if (tokens_.IsOperator(":")) return ParseSlice(std::move(node), std::move(key), line);
  if (tokens_.IsOperator(",")) {
    std::vector<ExpressionPtr> items;
    items.push_back(std::move(key));
    while (tokens_.SkipOperator(",")) items.push_back(ParseExpression());
    key = std::make_unique<ListExpression>(line, List::Kind::kTuple, std::move(items));
  }
  tokens_.ExpectOperator("]");
  return std::make_unique<ItemExpression>(line, std::move(node), std::move(key));
}

ExpressionPtr ExpressionParser::ParseSlice(ExpressionPtr node, ExpressionPtr start, int line) {
  ExpressionPtr stop;
  ExpressionPtr step;
  tokens_.ExpectOperator(":");
  if (!tokens_.IsOperator(":") && !tokens_.IsOperator("]")) stop = ParseExpression();
  if (tokens_.SkipOperator(":") && !tokens_.IsOperator("]")) step = ParseExpression();
  tokens_.ExpectOperator("]");
  return std::make_unique<SliceExpression>(line, std::move(node), std::move(start), std::move(stop),
                                           std::move(step));
}

std::string ExpressionParser::ParseDottedName() {
  std::string name = tokens_.ExpectAnyName();
  while (tokens_.SkipOperator(".")) name += "." + tokens_.ExpectAnyName();
  return name;
}

std::unique_ptr<const FilterExpression> ExpressionParser::ParseFilter(ExpressionPtr input) {
  const int line = tokens_.line();
  std::string name = ParseDottedName();
  CallArguments arguments;
  if (tokens_.IsOperator("(")) arguments = ParseArguments();
  return std::make_unique<FilterExpression>(line, std::move(input), std::move(name),
                                            std::move(arguments));
}

std::unique_ptr<const FilterExpression> ExpressionParser::ParseFilterChain() {
  std::unique_ptr<const FilterExpression> filter = ParseFilter(nullptr);
  while (tokens_.SkipOperator("|")) {
    CountLink();
    filter = ParseFilter(std::move(filter));
  }
  return filter;
}

ExpressionPtr ExpressionParser::ParseTest(ExpressionPtr node) {
  const int line = tokens_.Next().line;
  const bool negated = tokens_.SkipName("not");
  std::string name = ParseDottedName();
  CallArguments arguments;
  const Token& next = tokens_.current();
  const bool starts_value = next.kind == TokenKind::kName || next.kind == TokenKind::kString ||
                            next.kind == TokenKind::kInteger || next.kind == TokenKind::kFloat ||
                            tokens_.IsOperator("[") || tokens_.IsOperator("{");
  if (tokens_.IsOperator("(")) {
    arguments = ParseArguments();
  } else if (starts_value && !tokens_.IsAnyName({"else", "or", "and"})) {
    if (tokens_.IsName("is")) FailAt(line, "cannot chain multiple tests with is");
    const Nesting nesting(*this);
    // Jinja reads a word here as the test's argument even where it is one of the grammar's; those
    // make no sense as one.
    if (!tokens_.IsAnyName({"if", "in", "not", "recursive"})) {
      arguments.positional.push_back(ParseCallable());
    }
  }
  return std::make_unique<TestExpression>(line, std::move(node), std::move(name),
                                          std::move(arguments), negated);
}

CallArguments ExpressionParser::ParseArguments() {
  const Nesting nesting(*this);
  tokens_.ExpectOperator("(");
  CallArguments arguments;
  bool first = true;
  while (!tokens_.SkipOperator(")")) {
    if (!first) {
      tokens_.ExpectOperator(",");
      if (tokens_.SkipOperator(")")) break;
    }
    first = false;
    const int line = tokens_.line();
    if (tokens_.SkipOperator("**")) {
      if (arguments.unpacked_dict != nullptr) FailAt(line, "more than one ** argument");
      arguments.unpacked_dict = ParseExpression();
    } else if (tokens_.SkipOperator("*")) {
      if (arguments.unpacked_list != nullptr) FailAt(line, "more than one * argument");
      arguments.unpacked_list = ParseExpression();
    } else if (tokens_.Is(TokenKind::kName) && tokens_.ahead().kind == TokenKind::kOperator &&
               tokens_.ahead().text == "=") {
      OriginText name(tokens_.Next().text, true);
      tokens_.Next();
      arguments.named.emplace_back(std::move(name), ParseExpression());
    } else {
      if (!arguments.named.empty()) {
        FailAt(line, "positional argument follows keyword argument");
      }
      arguments.positional.push_back(ParseExpression());
    }
  }
  return arguments;
}

}  // namespace stoker::text::jinja
