#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/jinja/failure.h"
#include "text/jinja/unicode.h"

namespace stoker::text::jinja {
namespace {

bool IsBlank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string NormaliseNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// The escapes of Python's string literals, without \N{…}.
std::string ResolveEscapes(std::string_view body, int line) {
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out += body[i];
      continue;
    }
    const char c = body[++i];
    const auto hex = [&](std::size_t digits) {
      char32_t value = 0;
      for (std::size_t d = 0; d < digits; ++d) {
        const char h = i + 1 < body.size() ? body[i + 1] : '\0';
        const auto letter = static_cast<char>(h | 0x20);
        if (!IsDigit(h) && (letter < 'a' || letter > 'f')) FailAt(line, "broken \\{} escape", c);
        value = value * 16 + static_cast<char32_t>(IsDigit(h) ? h - '0' : letter - 'a' + 10);
        ++i;
      }
      AppendCodePoint(value, out);
    };
    switch (c) {
      case '\n':
        break;
      case '\\':
      case '\'':
      case '"':
        out += c;
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case 'x':
        hex(2);
        break;
      case 'u':
        hex(4);
        break;
      case 'U':
        hex(8);
        break;
      default:
        if (c >= '0' && c <= '7') {
          char32_t value = static_cast<char32_t>(c - '0');
          for (int d = 0; d < 2 && i + 1 < body.size() && body[i + 1] >= '0' && body[i + 1] <= '7';
               ++d) {
            value = value * 8 + static_cast<char32_t>(body[++i] - '0');
          }
          AppendCodePoint(value, out);
        } else {
          out += '\\';
          out += c;
        }
    }
  }
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) ReadText();
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return std::string_view(source_).substr(at_); }
  [[nodiscard]] bool StartsWith(std::string_view text) const { return rest().starts_with(text); }

  void Add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  void Advance(std::size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes),
                                         '\n'));
    at_ += bytes;
  }

  void SkipBlank() {
    std::size_t end = at_;
    while (end < source_.size() && IsBlank(source_[end])) ++end;
    Advance(end - at_);
  }

  [[nodiscard]] std::size_t FindTag() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos;
         i = source_.find('{', i + 1)) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return source_.size();
  }

  // Text up to the next tag, shortened as the tag asks, and then the tag.
  void ReadText() {
    const std::size_t tag = FindTag();
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool is_variable = tag < source_.size() && source_[tag + 1] == '{';
    if (tag < source_.size() && sign == '-') {
      while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
    } else if (tag < source_.size() && sign != '+' && !is_variable) {
      StripLineStart(text);
    }
    if (!text.empty()) Add(TokenKind::kText, std::string(text));
    Advance(tag - at_);
    if (tag == source_.size()) return;
    const char kind = source_[tag + 1];
    Advance(sign == '-' || sign == '+' ? 3 : 2);
    if (kind == '#') {
      SkipComment();
    } else if (kind == '{') {
      ReadTag(TokenKind::kVariableBegin, TokenKind::kVariableEnd, "}}");
    } else if (!ReadRaw()) {
      ReadTag(TokenKind::kBlockBegin, TokenKind::kBlockEnd, "%}");
    }
  }

  // lstrip_blocks: spaces and tabs between the start of the line and a block tag.
  void StripLineStart(std::string_view& text) const {
    const std::size_t newline = text.rfind('\n');
    const bool has_newline = newline != std::string_view::npos;
    if (!has_newline && !at_line_start_) return;
    const std::size_t start = has_newline ? newline + 1 : 0;
    if (text.find_first_not_of(" \t", start) == std::string_view::npos)
      text = text.substr(0, start);
  }

  // Eats the closing mark at the current place with what its sign or trim_blocks takes after it.
  void CloseTag(char sign, std::size_t mark_bytes, bool trims_newline) {
    Advance(mark_bytes + (sign != '\0' ? 1 : 0));
    if (sign == '-') {
      SkipBlank();
    } else if (sign == '\0' && trims_newline && StartsWith("\n")) {
      Advance(1);
    }
    at_line_start_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  // The sign of the closing mark that `text` starts with: '-', '+' or 0; nothing where there is
  // none.
  static std::optional<char> ClosingSign(std::string_view text, std::string_view mark,
                                         bool allows_plus) {
    if (text.starts_with(mark)) return '\0';
    const char sign = text.empty() ? '\0' : text[0];
    if (sign != '-' && !(sign == '+' && allows_plus)) return std::nullopt;
    return text.substr(1).starts_with(mark) ? std::optional(sign) : std::nullopt;
  }

  void SkipComment() {
    const int line = line_;
    std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) FailAt(line, "missing end of comment tag");
    char sign = '\0';
    if (end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+')) sign = source_[--end];
    Advance(end - at_);
    CloseTag(sign, 2, true);
  }

  // A raw block, if the tag just opened is one.
  bool ReadRaw() {
    const std::size_t start = at_;
    const int line = line_;
    SkipBlank();
    if (StartsWith("raw")) {
      Advance(3);
      SkipBlank();
      if (const auto sign = ClosingSign(rest(), "%}", false)) {
        CloseTag(*sign, 2, false);
        ReadRawBody(line);
        return true;
      }
    }
    at_ = start;
    line_ = line;
    return false;
  }

  void ReadRawBody(int raw_line) {
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 2)) {
      std::size_t after = tag + 2;
      char open = '\0';
      if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) {
        open = source_[after++];
      }
      while (after < source_.size() && IsBlank(source_[after])) ++after;
      if (!std::string_view(source_).substr(after).starts_with("endraw")) continue;
      std::size_t close = after + 6;
      while (close < source_.size() && IsBlank(source_[close])) ++close;
      const auto sign = ClosingSign(std::string_view(source_).substr(close), "%}", true);
      if (!sign) continue;
      std::string_view body = std::string_view(source_).substr(at_, tag - at_);
      if (open == '-') {
        while (!body.empty() && IsBlank(body.back())) body.remove_suffix(1);
      } else if (open != '+') {
        StripLineStart(body);
      }
      if (!body.empty()) Add(TokenKind::kText, std::string(body));
      Advance(close - at_);
      CloseTag(*sign, 2, true);
      return;
    }
    FailAt(raw_line, "missing end of raw directive");
  }

  void ReadTag(TokenKind begin, TokenKind end, std::string_view mark) {
    const int line = line_;
    Add(begin, "");
    std::string open_brackets;
    while (true) {
      SkipBlank();
      if (at_ == source_.size()) FailAt(line, "a tag is opened but not closed");
      if (open_brackets.empty()) {
        if (const auto sign = ClosingSign(rest(), mark, end == TokenKind::kBlockEnd)) {
          Add(end, "");
          CloseTag(*sign, 2, end == TokenKind::kBlockEnd);
          return;
        }
      }
      ReadToken(open_brackets);
    }
  }

  void ReadToken(std::string& open_brackets) {
    const char c = source_[at_];
    if (c == '\'' || c == '"') {
      ReadString();
    } else if (IsDigit(c)) {
      ReadNumber();
    } else if (IsWord(CodePointAt(source_, at_).value)) {
      std::size_t end = at_;
      while (end < source_.size() && IsWord(CodePointAt(source_, end).value)) {
        end += CodePointAt(source_, end).bytes;
      }
      Add(TokenKind::kName, source_.substr(at_, end - at_));
      Advance(end - at_);
    } else {
      ReadOperator(open_brackets);
    }
  }

  void ReadString() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) FailAt(line_, "a string is opened but not closed");
    const auto body = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    Add(TokenKind::kString, ResolveEscapes(body, line_));
    Advance(end + 1 - at_);
  }

  void ReadNumber() {
    std::size_t end = at_;
    bool is_float = false;
    const auto digits = [&] {
      while (end < source_.size() &&
             (IsDigit(source_[end]) ||
              (source_[end] == '_' && end + 1 < source_.size() && IsDigit(source_[end + 1])))) {
        ++end;
      }
    };
    const auto digit_at = [&](std::size_t i) { return i < source_.size() && IsDigit(source_[i]); };
    if (source_[at_] == '0' && at_ + 1 < source_.size() &&
        std::string_view("xXoObB").find(source_[at_ + 1]) != std::string_view::npos) {
      end = at_ + 2;
      while (end < source_.size() && IsWord(static_cast<unsigned char>(source_[end]))) ++end;
    } else {
      digits();
      const bool is_attribute = at_ > 0 && source_[at_ - 1] == '.';  // the 0 of list.0.name
      if (!is_attribute && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        is_float = true;
        ++end;
        digits();
      }
      if (!is_attribute && end < source_.size() && (source_[end] | 0x20) == 'e') {
        const bool has_sign =
            end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-');
        if (digit_at(end + (has_sign ? 2 : 1))) {
          is_float = true;
          end += has_sign ? 2 : 1;
          digits();
        }
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    Add(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    Advance(end - at_);
  }

  void ReadOperator(std::string& open_brackets) {
    static constexpr std::array<std::string_view, 27> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!"};
    for (const std::string_view symbol : kOperators) {
      if (!StartsWith(symbol)) continue;
      const char c = symbol[0];
      if (c == '(' || c == '[' || c == '{') {
        open_brackets += c == '(' ? ')' : (c == '[' ? ']' : '}');
      } else if (c == ')' || c == ']' || c == '}') {
        if (open_brackets.empty()) FailAt(line_, "unexpected '{}'", c);
        if (open_brackets.back() != c) {
          FailAt(line_, "unexpected '{}', expected '{}'", c, open_brackets.back());
        }
        open_brackets.pop_back();
      }
      Add(TokenKind::kOperator, std::string(symbol));
      Advance(symbol.size());
      return;
    }
    const std::size_t bytes = CodePointAt(source_, at_).bytes;
    FailAt(line_, "unexpected char '{}'", rest().substr(0, bytes));
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenise(std::string_view source) {
  return Lexer(NormaliseNewlines(source)).Run();
}

}  // namespace stoker::text::jinja
