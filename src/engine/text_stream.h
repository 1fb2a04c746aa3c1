#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/detokenizer.h"
#include "text/stop.h"
#include "text/tokenizer.h"

namespace stoker::engine {

/// A piece of an answer as it is shown: what the model thinks and what it says, apart.
struct TextDelta {
  std::string thinking;
  std::string answer;

  TextDelta& operator+=(const TextDelta& other) {
    thinking += other.thinking;
    answer += other.answer;
    return *this;
  }
};

/// What ends an answer's text, and how its thinking is told apart.
struct TextStreamOptions {
  std::vector<std::string> stops;  ///< strings that end the answer and do not belong to it
  /// Whether <think> and </think> mean something: text between them is thinking, and the markers
  /// themselves are not shown.
  bool splits_thinking = true;
  bool starts_thinking = false;  ///< the prompt ended inside <think>
};

/// Turns the tokens of one answer into text as they come: whole characters, thinking parted from
/// the answer, cut off at a stop string. A model that calls a tool without closing its thinking has
/// ended it (as Kimi K2 does). One thread at a time; the tokenizer must outlive it.
class TextStream {
 public:
  /// Errors: as text::StopMatcher::Create.
  static absl::StatusOr<TextStream> Create(const text::Tokenizer& tokenizer,
                                           const TextStreamOptions& options);

  /// The text that this token completes. Nothing once stopped.
  TextDelta Push(TokenId token);

  /// What is left when the answer ends.
  TextDelta Flush();

  /// Whether a stop string has been found.
  [[nodiscard]] bool stopped() const { return stop_.stopped(); }
  /// Whether the answer is inside its thinking now.
  [[nodiscard]] bool is_thinking() const { return thinking_; }

 private:
  TextStream(const text::Tokenizer& tokenizer, text::StopMatcher stop, bool thinking)
      : detokenizer_(tokenizer), stop_(std::move(stop)), thinking_(thinking) {}

  [[nodiscard]] TextDelta Route(std::string_view text);

  text::Detokenizer detokenizer_;
  text::StopMatcher stop_;
  bool thinking_;
  std::optional<TokenId> think_begin_;
  std::optional<TokenId> think_end_;
  std::optional<TokenId> tool_calls_begin_;
};

}  // namespace stoker::engine
