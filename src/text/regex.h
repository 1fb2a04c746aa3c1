#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stoker::text {

/// A half-open range of bytes of a text.
struct ByteSpan {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t size() const { return end - begin; }
  friend bool operator==(const ByteSpan&, const ByteSpan&) = default;
};

/// A PCRE2 pattern over UTF-8 with Unicode properties, compiled to machine code where the system
/// allows that. Immutable: threads share a Regex, and each has a Matcher of its own.
class Regex {
 public:
  enum class Syntax {
    kPcre2,    ///< a pattern in PCRE2's own syntax
    kLiteral,  ///< the text itself
  };

  /// Errors: kInvalidArgument with the offset and PCRE2's message.
  static absl::StatusOr<Regex> Compile(std::string_view pattern, Syntax syntax = Syntax::kPcre2);

 private:
  friend class Matcher;
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

  std::shared_ptr<const Code> code_;
};

/// Finds the matches of a Regex one after the other. Bounded: where a pattern backtracks or scans
/// ahead too much for the length of the text, that is an error, not a hang.
class Matcher {
 public:
  explicit Matcher(const Regex& regex);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;

  /// Lets the Finds to come do as much work in all as so many more bytes of text deserve.
  void AllowFor(std::size_t bytes);

  /// The first match in `subject` at or after byte `offset`, none if there is none. Text before
  /// `offset` is seen by look-behind. `subject` must be valid UTF-8 and `offset` a character's
  /// start. Errors: kResourceExhausted where the pattern needs more work or memory than the limit.
  absl::StatusOr<std::optional<ByteSpan>> Find(std::string_view subject, std::size_t offset);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker::text
