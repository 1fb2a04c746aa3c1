#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::text::jinja {

enum class TokenKind : std::uint8_t {
  kText,           ///< what stands outside of all tags
  kVariableBegin,  ///< {{
  kVariableEnd,    ///< }}
  kBlockBegin,     ///< {%
  kBlockEnd,       ///< %}
  kName,
  kString,  ///< `text` is what it denotes, escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line = 0;
};

/// Cuts a template into tokens by jinja2's rules with trim_blocks and lstrip_blocks on, as
/// transformers sets them: the newline after a block tag goes, so does the blank space between the
/// start of a line and a block tag; `-` strips more and `+` strips nothing. Comments and the marks
/// of raw blocks are left out; the last token is kEnd. Throws Failure.
std::vector<Token> Tokenise(std::string_view source);

}  // namespace stoker::text::jinja
