#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/tokenizer.h"

namespace stoker::cli {

/// Tokens to answer to.
struct PromptTokens {
  std::vector<TokenId> ids;
  bool starts_thinking = false;  ///< the prompt ends inside <think>
};

/// Whether `ids` end inside <think>: the last of its markers opens. Pure.
bool EndsInThinking(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids);

/// What has been said so far, and how it is written down for the model.
class Conversation {
 public:
  /// `thinking`: asks for an answer that thinks first, or for one that does not; the model's own
  /// choice where it is not set. Errors: kInvalidArgument for a tokenizer without the markers of a
  /// conversation.
  static absl::StatusOr<Conversation> Create(const text::Tokenizer& tokenizer,
                                             std::optional<bool> thinking);

  void AddSystem(const std::string& text) { messages_.push_back({"system", text}); }
  void AddUser(const std::string& text) { messages_.push_back({"user", text}); }
  void AddAnswer(const std::string& text) { messages_.push_back({"assistant", text}); }
  /// Takes back the last message.
  void RemoveLast() { messages_.pop_back(); }
  /// Forgets all but a system message.
  void Reset();

  /// The conversation and the start of an answer, as tokens. Errors: those of Tokenizer::Encode.
  [[nodiscard]] absl::StatusOr<PromptTokens> Prompt(const text::Tokenizer& tokenizer) const;

 private:
  struct Message {
    std::string role;
    std::string text;
  };

  explicit Conversation(std::optional<bool> thinking) : thinking_(thinking) {}

  std::optional<bool> thinking_;
  std::vector<Message> messages_;
};

}  // namespace stoker::cli
