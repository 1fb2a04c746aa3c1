#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/jinja/civil_time.h"
#include "text/jinja/template.h"
#include "text/segment.h"

namespace stoker::text {

/// A function call that the model made earlier.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments = "{}";  ///< JSON text
};

/// One message of a conversation, in the terms of the OpenAI API. All text is UTF-8.
struct ChatMessage {
  std::string role;                  ///< system, developer, user, assistant, tool, …
  std::vector<std::string> content;  ///< text parts: none for null or an empty list
  std::string reasoning;             ///< of an assistant: what it thought, if kept
  std::vector<ToolCall> tool_calls;  ///< of an assistant
  std::string tool_call_id;          ///< of a tool's answer: which call it answers
  std::string name;                  ///< of the speaker or tool, if given
};

/// What to make a prompt of.
struct ChatRequest {
  std::vector<ChatMessage> messages;
  nlohmann::ordered_json tools;       ///< a list of OpenAI tool definitions, or null
  bool add_generation_prompt = true;  ///< end with the start of the assistant's turn
  /// An object of further variables for the template, such as {"thinking": false}, or null. They
  /// cannot replace messages, tools, add_generation_prompt nor the special tokens.
  nlohmann::ordered_json arguments;
  std::optional<jinja::CivilTime> now;  ///< for templates that write the date
};

/// Turns conversations into prompts as a checkpoint's chat template says. Immutable: any number of
/// threads may render at once.
class ChatTemplate {
 public:
  /// Kimi's layouts, for checkpoints without a template file.
  enum class KimiLayout : std::uint8_t {
    kK2,          ///< no reasoning; tools as JSON
    kK2Thinking,  ///< reasoning; tools as JSON
    kK25,         ///< K2.5 and later: reasoning that the prompt opens; tools as TypeScript
  };

  /// Reads the template of a checkpoint folder: chat_template.jinja, else `chat_template` of
  /// chat_template.json or tokenizer_config.json, else Kimi's layout if it is a Kimi model.
  /// Errors: kNotFound where there is no template; kInvalidArgument for one that does not parse or
  /// is not UTF-8; as sys::ReadTextFile for a file that cannot be read.
  static absl::StatusOr<ChatTemplate> Load(const std::filesystem::path& folder);
  /// A template from its text. `special_tokens` are the names that it may use, such as bos_token;
  /// `limits` hold for each render. Errors: kInvalidArgument for one that does not parse or is not
  /// UTF-8.
  static absl::StatusOr<ChatTemplate> FromText(std::string_view source,
                                               std::map<std::string, std::string> special_tokens,
                                               const jinja::RenderLimits& limits = {});
  /// Kimi's own layout, which needs no file.
  static ChatTemplate Kimi(KimiLayout layout);

  /// Errors: kInvalidArgument where the template refuses the conversation, or text is not UTF-8;
  /// kResourceExhausted where the template exceeds a limit.
  [[nodiscard]] absl::StatusOr<RenderedPrompt> Render(const ChatRequest& request) const;

 private:
  explicit ChatTemplate(jinja::Template compiled) : default_(std::move(compiled)) {}
  [[nodiscard]] nlohmann::ordered_json Messages(const ChatRequest& request) const;
  void ProbeParts();

  jinja::Template default_;
  std::optional<jinja::Template> tool_use_;  // for requests with tools, where there is one
  std::map<std::string, std::string> special_tokens_;
  jinja::RenderLimits limits_;
  bool is_kimi_ = false;          // call ids are functions.NAME:INDEX, tools_ts_str is set
  bool parses_arguments_ = true;  // arguments of calls go in as an object, not as text
  bool reads_parts_ = false;  // a content of several parts; otherwise they are joined by newlines
};

/// Names every call of a conversation as Kimi names its own, functions.NAME:INDEX with one index
/// over all calls from 0, and lets the tools' answers follow. Ids of other makers (call_…, NAME:0)
/// make the model lose its own form.
void RewriteCallIds(std::vector<ChatMessage>& messages);

}  // namespace stoker::text
