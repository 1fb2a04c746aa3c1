#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/jinja/expressions.h"
#include "text/jinja/token_stream.h"

namespace stoker::text::jinja {

/// Parses expressions by jinja2's grammar: each method is one level of precedence, loosest first.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// Which of the names that change a macro's signature have been used so far.
  struct SpecialNames {
    bool varargs = false;
    bool kwargs = false;
    bool caller = false;
  };
  SpecialNames& special_names() { return special_names_; }

  /// To be called at the start of each tag.
  void StartTag() { links_in_tag_ = 0; }

  ExpressionPtr ParseExpression() { return ParseConditional(true); }
  /// Without `a if b else c`, as in the items of a for statement.
  ExpressionPtr ParseWithoutConditional() { return ParseOr(); }
  /// An expression, or several with commas between them as a tuple.
  ExpressionPtr ParseTuple(bool with_conditional = true);
  /// `name(arguments) | name …` after `filter` or before the end of `set`.
  std::unique_ptr<const FilterExpression> ParseFilterChain();
  /// What may follow `call`: an expression with its postfixes.
  ExpressionPtr ParseCallable();

  /// Counts how deep the syntax nests, so that no template overflows the stack.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr ParseConditional(bool allowed);
  ExpressionPtr ParseOr();
  ExpressionPtr ParseAnd();
  ExpressionPtr ParseNot();
  ExpressionPtr ParseCompare();
  ExpressionPtr ParseSum();
  ExpressionPtr ParseConcat();
  ExpressionPtr ParseProduct();
  ExpressionPtr ParsePower();
  ExpressionPtr ParseUnary(bool with_filters);
  ExpressionPtr ParsePrimary();
  ExpressionPtr ParseName();
  ExpressionPtr ParseString();
  ExpressionPtr ParseNumber();
  ExpressionPtr ParseParenthesised();
  ExpressionPtr ParseList();
  ExpressionPtr ParseDict();
  ExpressionPtr ParsePostfixes(ExpressionPtr node);
  ExpressionPtr ParseFiltersAndTests(ExpressionPtr node);
  ExpressionPtr ParseAttribute(ExpressionPtr node);
  ExpressionPtr ParseSubscript(ExpressionPtr node);
  ExpressionPtr ParseSlice(ExpressionPtr node, ExpressionPtr start, int line);
  ExpressionPtr ParseTest(ExpressionPtr node);
  std::unique_ptr<const FilterExpression> ParseFilter(ExpressionPtr input);
  CallArguments ParseArguments();
  std::string ParseDottedName();
  // Called for each operator of a chain such as a + b + c, whose tree leans to the left and gets
  // as deep as the chain is long.
  void CountLink();

  TokenStream& tokens_;
  SpecialNames special_names_;
  int depth_ = 0;
  int links_in_tag_ = 0;
};

}  // namespace stoker::text::jinja
