#include "text/pattern_translation.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "base/status.h"

namespace stoker::text {
namespace {

bool IsAsciiPunctuation(char c) {
  return std::ispunct(static_cast<unsigned char>(c)) != 0;
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// General categories are one capital, or a capital and a small letter.
bool IsGeneralCategory(std::string_view name) {
  constexpr std::string_view kMajor = "LMNPSZC";
  if (name.empty() || name.size() > 2 || kMajor.find(name[0]) == kMajor.npos) return false;
  return name.size() == 1 || (name[1] >= 'a' && name[1] <= 'z');
}

bool IsScriptName(std::string_view name) {
  return name.size() > 2 && name[0] >= 'A' && name[0] <= 'Z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<std::string> Run() {
    while (at_ < pattern_.size()) {
      STOKER_RETURN_IF_ERROR(in_class_ ? ClassItem() : Item());
    }
    if (in_class_) return Unsupported("a class that does not end", pattern_.size());
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view Rest() const { return pattern_.substr(at_); }

  [[nodiscard]] static absl::Status Unsupported(std::string_view what, std::size_t at) {
    return InvalidArgument("regular expression, at byte {}: {} is not supported", at, what);
  }

  void Copy(std::size_t bytes) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }

  absl::Status Item() {
    switch (pattern_[at_]) {
      case '\\':
        return Escape();
      case '[':
        return ClassStart();
      case '(':
        return GroupStart();
      case '*':
      case '+':
      case '?':
        Copy(1);
        return Greediness(/*possessive=*/true);
      case '{':
        return Repeat();
      case '^':
      case '$':
        return Unsupported("an anchor (^ or $)", at_);
      default:
        Copy(1);
        return absl::OkStatus();
    }
  }

  absl::Status Greediness(bool possessive) {
    if (Rest().starts_with('?')) {
      Copy(1);
    } else if (Rest().starts_with('+')) {
      if (!possessive) return Unsupported("a possessive {n,m}+", at_);
      Copy(1);
    }
    return absl::OkStatus();
  }

  // {n}, {n,} and {n,m} mean the same everywhere; {,m} and a lone brace do not.
  absl::Status Repeat() {
    const std::size_t close = Rest().find('}');
    if (close == std::string_view::npos) return Unsupported("a lone {", at_);
    const std::string_view body = Rest().substr(1, close - 1);
    const bool sound =
        !body.empty() && IsDigit(body[0]) && std::count(body.begin(), body.end(), ',') <= 1 &&
        std::all_of(body.begin(), body.end(), [](char c) { return IsDigit(c) || c == ','; });
    if (!sound) return Unsupported("a { that is no repeat count", at_);
    Copy(close + 1);
    return Greediness(/*possessive=*/false);
  }

  absl::Status GroupStart() {
    constexpr std::string_view kKnown[] = {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    for (const std::string_view start : kKnown) {
      if (Rest().starts_with(start)) {
        Copy(start.size());
        return absl::OkStatus();
      }
    }
    if (Rest().starts_with("(?") || Rest().starts_with("(*")) {
      return Unsupported("the group " + std::string(Rest().substr(0, 3)), at_);
    }
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status Escape() {
    if (Rest().size() < 2) return Unsupported("a backslash at the end", at_);
    const char c = pattern_[at_ + 1];
    if (c == 's' || c == 'S') {
      out_ += c == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      at_ += 2;
      return absl::OkStatus();
    }
    if (c == 'p' || c == 'P') return Property();
    // \d is \p{Nd} on both sides; \w and \b are not the same on any two sides.
    constexpr std::string_view kSame = "dDrntf";
    if (kSame.find(c) == kSame.npos && !IsAsciiPunctuation(c)) {
      return Unsupported("the escape \\" + std::string(1, c), at_);
    }
    Copy(2);
    return absl::OkStatus();
  }

  absl::Status Property() {
    const std::size_t close = Rest().find('}');
    if (Rest().size() < 4 || Rest()[2] != '{' || close == std::string_view::npos) {
      return Unsupported("a property without braces", at_);
    }
    const std::string_view name = Rest().substr(3, close - 3);
    if (IsGeneralCategory(name)) {
      Copy(close + 1);
      return absl::OkStatus();
    }
    if (!IsScriptName(name)) return Unsupported("the property " + std::string(name), at_);
    out_ += pattern_.substr(at_, 2);
    out_ += "{sc:";
    out_ += name;
    out_ += '}';
    at_ += close + 1;
    return absl::OkStatus();
  }

  absl::Status ClassStart() {
    Copy(1);
    if (Rest().starts_with('^')) Copy(1);
    if (Rest().starts_with(']')) return Unsupported("a class that begins with ]", at_);
    in_class_ = true;
    return absl::OkStatus();
  }

  absl::Status ClassItem() {
    if (Rest().starts_with("&&")) return Unsupported("a set intersection (&&)", at_);
    switch (pattern_[at_]) {
      case '\\':
        return Escape();
      case '[':
        return Unsupported("a class inside a class", at_);
      case ']':
        in_class_ = false;
        [[fallthrough]];
      default:
        Copy(1);
        return absl::OkStatus();
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

absl::StatusOr<std::string> TranslatePattern(std::string_view pattern) {
  return Translator(pattern).Run();
}

}  // namespace stoker::text
