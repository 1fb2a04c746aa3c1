#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/failure.h"
#include "text/jinja/lexer.h"

namespace stoker::text::jinja {

/// The tokens of a template, read in order.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  [[nodiscard]] int line() const { return current().line; }
  [[nodiscard]] bool Is(TokenKind kind) const { return current().kind == kind; }
  [[nodiscard]] bool IsOperator(std::string_view symbol) const {
    return Is(TokenKind::kOperator) && current().text == symbol;
  }
  [[nodiscard]] bool IsName(std::string_view name) const {
    return Is(TokenKind::kName) && current().text == name;
  }
  [[nodiscard]] bool IsAnyName(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (IsName(name)) return true;
    }
    return false;
  }

  const Token& Next() {
    const Token& token = current();
    if (token.kind != TokenKind::kEnd) ++at_;
    return token;
  }
  bool SkipOperator(std::string_view symbol) {
    if (!IsOperator(symbol)) return false;
    Next();
    return true;
  }
  bool SkipName(std::string_view name) {
    if (!IsName(name)) return false;
    Next();
    return true;
  }
  void ExpectOperator(std::string_view symbol) {
    if (!SkipOperator(symbol)) Unexpected(symbol);
  }
  void ExpectName(std::string_view name) {
    if (!SkipName(name)) Unexpected(name);
  }
  /// A name that the template chooses.
  std::string ExpectAnyName() {
    if (!Is(TokenKind::kName)) Unexpected("a name");
    return Next().text;
  }
  void Expect(TokenKind kind) {
    if (!Is(kind)) Unexpected(Describe({kind, "", 0}));
    Next();
  }

  [[noreturn]] void Unexpected(std::string_view wanted) const {
    FailAt(line(), "expected {}, got {}", wanted, Describe(current()));
  }

  static std::string Describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kText:
        return "text";
      case TokenKind::kVariableBegin:
        return "'{{'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kEnd:
        return "the end of the template";
      default:
        return "'" + token.text.substr(0, 40) + "'";
    }
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace stoker::text::jinja
