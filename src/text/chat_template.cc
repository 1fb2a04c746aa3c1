#include "text/chat_template.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/status.h"
#include "text/added_token_json.h"
#include "text/json_access.h"
#include "text/kimi_layout.h"
#include "text/tool_declaration.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Roles that templates know: as the server's own words they may become part of a special token.
const std::vector<std::string>& KnownRoles() {
  static const auto& roles = *new std::vector<std::string>{
      "system", "developer", "user", "assistant", "tool", "function", "observation", "model"};
  return roles;
}

std::string TextOf(const nlohmann::json& object, std::string_view key) {
  return std::string(StringMember(object, key).value_or(""));
}

// bos_token and its like.
std::map<std::string, std::string> SpecialTokens(const nlohmann::json& tokenizer_config) {
  std::map<std::string, std::string> tokens;
  for (const char* const name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                                 "cls_token", "mask_token"}) {
    const std::string_view text = TokenName(tokenizer_config, name).value_or("");
    if (!text.empty()) tokens[name] = text;
  }
  return tokens;
}

// The templates of a folder by name; "default" is the one to use without reason for another.
absl::StatusOr<std::map<std::string, std::string>> FindTemplates(
    const fs::path& folder, const nlohmann::json& tokenizer_config) {
  std::map<std::string, std::string> templates;
  STOKER_ASSIGN_OR_RETURN(std::optional<std::string> file,
                          ReadIfThere(folder / "chat_template.jinja"));
  if (file.has_value()) {
    templates["default"] = *std::move(file);
    return templates;
  }
  STOKER_ASSIGN_OR_RETURN(const nlohmann::json own, ReadObject(folder / "chat_template.json"));
  for (const nlohmann::json* config : {&own, &tokenizer_config}) {
    const nlohmann::json* const found = Member(*config, "chat_template");
    if (found == nullptr) continue;
    if (found->is_string()) {
      templates["default"] = found->get<std::string>();
    } else if (found->is_array()) {
      for (const nlohmann::json& entry : *found) {
        if (entry.is_object()) templates[TextOf(entry, "name")] = TextOf(entry, "template");
      }
    }
    if (templates.empty()) {
      return InvalidArgument("{}: chat_template is neither text nor a list of named texts",
                             folder.string());
    }
    return templates;
  }
  return templates;
}

ChatTemplate::KimiLayout LayoutOf(const nlohmann::json& config) {
  constexpr int kImEnd = 163586;  // ends K2-Thinking's answers; K2's own end is [EOS]
  if (TextOf(config, "model_type") == "kimi_k25") return ChatTemplate::KimiLayout::kK25;
  const auto eos = config.find("eos_token_id");
  return eos != config.end() && *eos == kImEnd ? ChatTemplate::KimiLayout::kK2Thinking
                                               : ChatTemplate::KimiLayout::kK2;
}

Json ArgumentsOf(const ToolCall& call, bool parse) {
  if (!parse) return call.arguments.empty() ? "{}" : call.arguments;
  auto parsed = ParseOrderedJson(call.arguments.empty() ? "{}" : call.arguments);
  return parsed.ok() && parsed->is_object() ? *std::move(parsed) : Json(call.arguments);
}

absl::StatusOr<jinja::Template> Compile(std::string_view source) {
  if (const auto at = FindInvalidUtf8(source)) {
    return InvalidArgument("not valid UTF-8 at byte {} (0x{:02X})", *at,
                           static_cast<unsigned char>(source[*at]));
  }
  return jinja::Template::Parse(source);
}

absl::Status CheckUtf8(const ChatMessage& message) {
  std::vector<std::string_view> texts = {message.role, message.reasoning, message.tool_call_id,
                                         message.name};
  texts.insert(texts.end(), message.content.begin(), message.content.end());
  for (const ToolCall& call : message.tool_calls) {
    texts.insert(texts.end(), {call.id, call.name, call.arguments});
  }
  for (const std::string_view text : texts) {
    if (const auto at = FindInvalidUtf8(text)) {
      return InvalidArgument("a message of role {:.20}: byte {} is not valid UTF-8",
                             FindInvalidUtf8(message.role) ? "?" : message.role, *at);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void RewriteCallIds(std::vector<ChatMessage>& messages) {
  int index = 0;
  std::map<std::string, std::string> renamed;  // a later call of the same id hides an earlier one
  for (ChatMessage& message : messages) {
    for (ToolCall& call : message.tool_calls) {
      std::string id = fmt::format("functions.{}:{}", call.name, index++);
      renamed[call.id] = id;
      call.id = std::move(id);
    }
    if (const auto found = renamed.find(message.tool_call_id); found != renamed.end()) {
      message.tool_call_id = found->second;
    }
  }
}

absl::StatusOr<ChatTemplate> ChatTemplate::FromText(
    std::string_view source, std::map<std::string, std::string> special_tokens,
    const jinja::RenderLimits& limits) {
  STOKER_ASSIGN_OR_RETURN(jinja::Template compiled, Compile(source));
  ChatTemplate made(std::move(compiled));
  made.special_tokens_ = std::move(special_tokens);
  made.limits_ = limits;
  made.ProbeParts();
  return made;
}

ChatTemplate ChatTemplate::Kimi(KimiLayout layout) {
  auto compiled = jinja::Template::Parse(kKimiLayout);
  STOKER_CHECK(compiled.ok());
  ChatTemplate made(*std::move(compiled));
  const char* const names[] = {"k2", "k2-thinking", "k25"};
  made.special_tokens_["layout"] = names[static_cast<std::size_t>(layout)];
  made.is_kimi_ = true;
  made.parses_arguments_ = false;  // the model sees its own arguments again, byte for byte
  made.reads_parts_ = true;
  return made;
}

absl::StatusOr<ChatTemplate> ChatTemplate::Load(const std::filesystem::path& folder) {
  STOKER_ASSIGN_OR_RETURN(const nlohmann::json tokenizer_config,
                          ReadObject(folder / "tokenizer_config.json"));
  STOKER_ASSIGN_OR_RETURN(const nlohmann::json config, ReadObject(folder / "config.json"));
  STOKER_ASSIGN_OR_RETURN(const auto sources, FindTemplates(folder, tokenizer_config));
  const bool is_kimi = TextOf(config, "model_type").starts_with("kimi_k2");
  if (sources.empty()) {
    if (is_kimi) return Kimi(LayoutOf(config));
    return NotFound("{}: no chat template: put chat_template.jinja there", folder.string());
  }
  const auto preferred = sources.find("default");
  auto made = FromText(preferred != sources.end() ? preferred->second : sources.begin()->second,
                       SpecialTokens(tokenizer_config));
  if (!made.ok()) return At(folder.string() + ": chat template", made.status());
  made->is_kimi_ = is_kimi;
  if (const auto found = sources.find("tool_use"); found != sources.end()) {
    auto compiled = Compile(found->second);
    if (!compiled.ok()) return At(folder.string() + ": tool_use template", compiled.status());
    made->tool_use_ = *std::move(compiled);
  }
  return made;
}

Json ChatTemplate::Messages(const ChatRequest& request) const {
  std::vector<ChatMessage> messages = request.messages;
  if (is_kimi_) RewriteCallIds(messages);
  Json list = Json::array();
  for (const ChatMessage& message : messages) {
    Json entry = {{"role", message.role}};
    if (message.content.size() > 1 && reads_parts_) {
      entry["content"] = Json::array();
      for (const std::string& text : message.content) {
        entry["content"].push_back({{"type", "text"}, {"text", text}});
      }
    } else {
      entry["content"] = fmt::format("{}", fmt::join(message.content, "\n"));
    }
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    if (!message.name.empty()) entry["name"] = message.name;
    if (!message.tool_call_id.empty()) entry["tool_call_id"] = message.tool_call_id;
    for (const ToolCall& call : message.tool_calls) {
      entry["tool_calls"].push_back(
          {{"id", call.id},
           {"type", "function"},
           {"function",
            {{"name", call.name}, {"arguments", ArgumentsOf(call, parses_arguments_)}}}});
    }
    list.push_back(std::move(entry));
  }
  return list;
}

absl::StatusOr<RenderedPrompt> ChatTemplate::Render(const ChatRequest& request) const {
  for (const ChatMessage& message : request.messages) {
    STOKER_RETURN_IF_ERROR(CheckUtf8(message));
  }
  const bool has_tools = request.tools.is_array() && !request.tools.empty();
  const Json messages = Messages(request);
  const Json tools = has_tools ? request.tools : Json();
  const Json generates = request.add_generation_prompt;
  const Json nothing;
  const Json typescript =
      is_kimi_ && has_tools ? Json(ToolsAsTypeScript(tools).value_or("")) : Json("");
  std::map<std::string, Json> tokens(special_tokens_.begin(), special_tokens_.end());
  const bool uses_typescript =
      is_kimi_ && (!tokens.contains("layout") || tokens.at("layout") == "k25");

  std::vector<jinja::Variable> variables = {{.name = "documents", .value = &nothing}};
  if (request.arguments.is_object()) {  // first, so that what follows overrides them
    for (const auto& [name, value] : request.arguments.items()) {
      variables.push_back({.name = name, .value = &value});
    }
  }
  variables.push_back({.name = "messages", .value = &messages});
  variables.push_back({.name = "tools", .value = &tools});
  variables.push_back({.name = "add_generation_prompt", .value = &generates});
  if (uses_typescript) variables.push_back({.name = "tools_ts_str", .value = &typescript});
  for (const auto& [name, text] : tokens) {
    variables.push_back({.name = name, .trusted = true, .value = &text});
  }
  jinja::RenderOptions options;
  options.limits = limits_;
  options.now = request.now;
  options.trusted_fields = {{"role", KnownRoles()}};
  const jinja::Template& chosen = has_tools && tool_use_ ? *tool_use_ : default_;
  auto prompt = chosen.Render(variables, options);
  if (!prompt.ok()) return At("chat template", prompt.status());
  prompt->needs_markers = is_kimi_;
  return prompt;
}

// A template that does not expect parts fails on them or prints the list as Python would.
void ChatTemplate::ProbeParts() {
  reads_parts_ = true;
  const ChatRequest probe{
      .messages = {{.role = "user", .content = {"stoker-part-1", "stoker-part-2"}}}};
  const auto prompt = Render(probe);
  const std::string text = prompt.ok() ? prompt->Text() : "";
  reads_parts_ = text.find("stoker-part-1") != std::string::npos &&
                 text.find("stoker-part-2") != std::string::npos &&
                 text.find("'type'") == std::string::npos &&
                 text.find("\"type\"") == std::string::npos;
}

}  // namespace stoker::text
