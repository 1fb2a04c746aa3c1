#include "cli/conversation.h"

#include <algorithm>
#include <ctime>

#include "base/status.h"

namespace stoker::cli {
namespace {

text::jinja::CivilTime LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  return {.year = local.tm_year + 1900,
          .month = local.tm_mon + 1,
          .day = local.tm_mday,
          .hour = local.tm_hour,
          .minute = local.tm_min,
          .second = std::min(local.tm_sec, 59)};  // a leap second has no place on the clock
}

}  // namespace

bool EndsInThinking(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  const std::optional<TokenId> begin = tokenizer.FindSpecial("<think>");
  const std::optional<TokenId> end = tokenizer.FindSpecial("</think>");
  const auto marker =
      std::find_if(ids.rbegin(), ids.rend(), [&](TokenId id) { return id == begin || id == end; });
  return marker != ids.rend() && *marker == begin;
}

Conversation::Conversation(text::ChatTemplate chat_template, std::optional<bool> thinking)
    : template_(std::move(chat_template)) {
  request_.now = LocalTime();
  if (thinking) {
    // Kimi's templates read the first, Qwen's and GLM's the second.
    request_.arguments = {{"thinking", *thinking}, {"enable_thinking", *thinking}};
  }
}

absl::StatusOr<Conversation> Conversation::Open(const std::filesystem::path& model,
                                                std::optional<bool> thinking) {
  absl::StatusOr<text::ChatTemplate> chat_template = text::ChatTemplate::Load(model);
  if (absl::IsNotFound(chat_template.status())) {
    return NotFound("{}; stoker run --raw continues a text without one",
                    Message(chat_template.status()));
  }
  STOKER_RETURN_IF_ERROR(chat_template.status());
  return Conversation(*std::move(chat_template), thinking);
}

void Conversation::Reset() {
  auto& messages = request_.messages;
  const bool has_system = !messages.empty() && messages.front().role == "system";
  messages.erase(messages.begin() + (has_system ? 1 : 0), messages.end());
}

void Conversation::Add(const std::string& role, const std::string& text,
                       const std::string& thinking) {
  text::ChatMessage& message = request_.messages.emplace_back();
  message.role = role;
  message.content.push_back(text);
  message.reasoning = thinking;
}

absl::StatusOr<PromptTokens> Conversation::Prompt(const text::Tokenizer& tokenizer) const {
  STOKER_ASSIGN_OR_RETURN(const text::RenderedPrompt prompt, template_.Render(request_));
  STOKER_ASSIGN_OR_RETURN(std::vector<TokenId> ids, tokenizer.Encode(prompt));
  const bool starts_thinking = EndsInThinking(tokenizer, ids);
  return PromptTokens{.ids = std::move(ids), .starts_thinking = starts_thinking};
}

}  // namespace stoker::cli
