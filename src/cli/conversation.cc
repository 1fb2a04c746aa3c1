#include "cli/conversation.h"

#include <algorithm>

#include "base/status.h"
#include "text/segment.h"

namespace stoker::cli {

bool EndsInThinking(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  const std::optional<TokenId> begin = tokenizer.FindSpecial("<think>");
  const std::optional<TokenId> end = tokenizer.FindSpecial("</think>");
  const auto marker =
      std::find_if(ids.rbegin(), ids.rend(), [&](TokenId id) { return id == begin || id == end; });
  return marker != ids.rend() && *marker == begin;
}

absl::StatusOr<Conversation> Conversation::Create(const text::Tokenizer& tokenizer,
                                                  std::optional<bool> thinking) {
  for (const char* marker :
       {"<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", "<|im_end|>"}) {
    if (!tokenizer.FindSpecial(marker)) {
      return InvalidArgument(
          "this model's tokenizer has no {}: it is not made for conversations; use stoker run "
          "--raw",
          marker);
    }
  }
  return Conversation(thinking);
}

void Conversation::Reset() {
  const bool has_system = !messages_.empty() && messages_.front().role == "system";
  messages_.resize(has_system ? 1 : 0);
}

// Kimi K2's layout (huggingface.co/moonshotai/Kimi-K2-Instruct, chat_template.jinja); what K2.5 and
// later add after the last marker says whether the answer thinks first.
absl::StatusOr<PromptTokens> Conversation::Prompt(const text::Tokenizer& tokenizer) const {
  text::RenderedPrompt prompt;
  for (const Message& message : messages_) {
    prompt.Append("<|im_" + message.role + "|>" + message.role + "<|im_middle|>", true);
    prompt.Append(message.text, false);
    prompt.Append("<|im_end|>", true);
  }
  prompt.Append("<|im_assistant|>assistant<|im_middle|>", true);
  if (thinking_) prompt.Append(*thinking_ ? "<think>" : "<think></think>", true);
  STOKER_ASSIGN_OR_RETURN(std::vector<TokenId> ids, tokenizer.Encode(prompt));
  const bool starts_thinking = EndsInThinking(tokenizer, ids);
  return PromptTokens{.ids = std::move(ids), .starts_thinking = starts_thinking};
}

}  // namespace stoker::cli
