#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace stoker::cli {

/// Tokens to answer to.
struct PromptTokens {
  std::vector<TokenId> ids;
  bool starts_thinking = false;  ///< the prompt ends inside <think>
};

/// Whether `ids` end inside <think>: the last of its markers opens. Pure.
bool EndsInThinking(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids);

/// What has been said so far, and the model's own way of writing it down.
class Conversation {
 public:
  /// `thinking`: asks the template for an answer that thinks first, or for one that does not; the
  /// template's own choice where it is not set.
  Conversation(text::ChatTemplate chat_template, std::optional<bool> thinking);

  /// With the chat template of a model folder. Errors: as text::ChatTemplate::Load.
  static absl::StatusOr<Conversation> Open(const std::filesystem::path& model,
                                           std::optional<bool> thinking);

  void AddSystem(const std::string& text) { Add("system", text, ""); }
  void AddUser(const std::string& text) { Add("user", text, ""); }
  void AddAnswer(const std::string& text, const std::string& thinking) {
    Add("assistant", text, thinking);
  }
  /// Takes back the last message.
  void RemoveLast() { request_.messages.pop_back(); }
  /// Forgets all but a system message.
  void Reset();

  /// The conversation and the start of an answer, as tokens. Errors: those of the template and of
  /// Tokenizer::Encode.
  [[nodiscard]] absl::StatusOr<PromptTokens> Prompt(const text::Tokenizer& tokenizer) const;

 private:
  void Add(const std::string& role, const std::string& text, const std::string& thinking);

  text::ChatTemplate template_;
  text::ChatRequest request_;
};

}  // namespace stoker::cli
