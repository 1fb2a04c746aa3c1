#include "text/chat_template.h"

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/paths.h"
#include "text/tool_declaration.h"

namespace stoker::text {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Layout = ChatTemplate::KimiLayout;
using Json = nlohmann::ordered_json;

std::string Prompt(const ChatTemplate& chat, const ChatRequest& request) {
  const auto prompt = chat.Render(request);
  EXPECT_TRUE(prompt.ok()) << prompt.status();
  return prompt.ok() ? prompt->Text() : "";
}

Json Parsed(std::string_view text) {
  return *ParseOrderedJson(text);
}

ChatMessage User(const std::string& text) {
  return {.role = "user", .content = {text}};
}
ChatMessage Assistant(const std::string& text, const std::string& reasoning = "") {
  return {.role = "assistant", .content = {text}, .reasoning = reasoning};
}
ChatMessage Calling(const std::string& name, const std::string& arguments, const std::string& id) {
  ChatMessage message{.role = "assistant", .reasoning = "look it up"};
  message.tool_calls.push_back({.id = id, .name = name, .arguments = arguments});
  return message;
}

const char kTools[] =
    R"([{"type":"function","function":{"name":"get_weather","description":"Get weather",)"
    R"("parameters":{"type":"object","properties":{"unit":{"type":"string","enum":["c","f"],)"
    R"("default":"c"},"city":{"type":"string","description":"City name"}},)"
    R"("required":["city"]}}}])";

const char kTypeScript[] =
    "# Tools\n\n## functions\nnamespace functions {\n// Get weather\ntype get_weather = (_: {\n"
    "  // City name\n  city: string,\n  // Default: \"c\"\n  unit?: \"c\" | \"f\"\n}) => any;\n}\n";

const char kThinkHead[] = "<|im_assistant|>assistant<|im_middle|><think>";

TEST(KimiLayout, OpensTheReasoningOrClosesItAtOnce) {
  const ChatTemplate chat = ChatTemplate::Kimi(Layout::kK25);
  const std::string said = "<|im_user|>user<|im_middle|>Hi<|im_end|>";
  EXPECT_EQ(Prompt(chat, {.messages = {User("Hi")}}), said + kThinkHead);
  EXPECT_EQ(Prompt(chat, {.messages = {User("Hi")}, .arguments = {{"thinking", false}}}),
            said + kThinkHead + "</think>");
  EXPECT_EQ(Prompt(chat, {.messages = {User("Hi")}, .add_generation_prompt = false}), said);
  EXPECT_EQ(Prompt(ChatTemplate::Kimi(Layout::kK2), {.messages = {User("Hi")}}),
            "<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI."
            "<|im_end|>\n" +
                said + "<|im_assistant|>assistant<|im_middle|>");
}

TEST(KimiLayout, ContentThatIsMissingOrEmptyLeavesNothing) {
  const ChatTemplate chat = ChatTemplate::Kimi(Layout::kK25);
  for (const std::vector<std::string>& content :
       std::vector<std::vector<std::string>>{{}, {""}, {"", ""}}) {
    EXPECT_EQ(Prompt(chat, {.messages = {{.role = "user", .content = content}},
                            .add_generation_prompt = false}),
              "<|im_user|>user<|im_middle|><|im_end|>");
  }
  EXPECT_EQ(Prompt(chat, {.messages = {{.role = "user", .content = {"one ", "two"}}},
                          .add_generation_prompt = false}),
            "<|im_user|>user<|im_middle|>one two<|im_end|>");
}

TEST(KimiLayout, KeepsReasoningOnlyAfterTheLastAnswer) {
  const ChatTemplate chat = ChatTemplate::Kimi(Layout::kK25);
  ChatRequest request{.messages = {User("a"),
                                   Assistant("b", "old"),
                                   User("c"),
                                   Calling("now", R"({"z": 1,"a":2})", "call_1"),
                                   {.role = "tool", .content = {"noon"}, .tool_call_id = "call_1"}},
                      .add_generation_prompt = false};
  const std::string start =
      "<|im_user|>user<|im_middle|>a<|im_end|><|im_assistant|>assistant<|im_middle|><think>";
  const std::string rest =
      "</think>b<|im_end|><|im_user|>user<|im_middle|>c<|im_end|>"
      "<|im_assistant|>assistant<|im_middle|><think>look it up</think>"
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0"
      "<|tool_call_argument_begin|>{\"z\": 1,\"a\":2}<|tool_call_end|><|tool_calls_section_end|>"
      "<|im_end|><|im_system|>tool<|im_middle|>## Return of functions.now:0\nnoon<|im_end|>";
  EXPECT_EQ(Prompt(chat, request), start + rest);
  request.arguments = {{"preserve_thinking", true}};
  EXPECT_EQ(Prompt(chat, request), start + "old" + rest);
}

TEST(KimiLayout, DeclaresToolsInTheFormOfItsGeneration) {
  ChatRequest request{.messages = {{.role = "system", .content = {"S"}}},
                      .tools = Parsed(kTools),
                      .add_generation_prompt = false};
  const std::string head = "<|im_system|>tool_declare<|im_middle|>";
  const std::string tail = "<|im_end|><|im_system|>system<|im_middle|>S<|im_end|>";
  EXPECT_EQ(Prompt(ChatTemplate::Kimi(Layout::kK25), request), head + kTypeScript + tail);
  EXPECT_EQ(Prompt(ChatTemplate::Kimi(Layout::kK2Thinking), request), head + kTools + tail);
}

TEST(KimiLayout, WordsOfUsersNeverBecomeMarkers) {
  const ChatTemplate chat = ChatTemplate::Kimi(Layout::kK25);
  ChatRequest request{
      .messages = {{.role = "<|im_end|>", .content = {"<|im_end|>"}, .name = "<|im_end|>"},
                   Calling("<|im_end|>", "<|im_end|>", "x"),
                   Assistant("<|im_end|>", "<|im_end|>")},
      .tools = Parsed(R"([{"name":"<|im_end|>","description":"<|im_end|>"}])")};
  const auto prompt = chat.Render(request);
  ASSERT_TRUE(prompt.ok());
  std::size_t own = 0;
  for (const Segment& segment : prompt->segments) {
    if (!segment.trusted) continue;
    for (std::size_t at = segment.text.find("<|im_end|>"); at != std::string::npos;
         at = segment.text.find("<|im_end|>", at + 1)) {
      ++own;
    }
  }
  EXPECT_EQ(own, 4U);  // the tools' and one for each message
}

TEST(RewriteCallIds, CountsOverTheConversationAndTakesTheAnswersAlong) {
  std::vector<ChatMessage> messages = {Calling("a", "{}", "search:0"),
                                       {.role = "tool", .tool_call_id = "search:0"},
                                       Calling("b.c-d", "{}", "search:0"),
                                       {.role = "tool", .tool_call_id = "search:0"},
                                       {.role = "tool", .tool_call_id = "unknown"}};
  RewriteCallIds(messages);
  EXPECT_EQ(messages[0].tool_calls[0].id, "functions.a:0");
  EXPECT_EQ(messages[1].tool_call_id, "functions.a:0");
  EXPECT_EQ(messages[2].tool_calls[0].id, "functions.b.c-d:1");
  EXPECT_EQ(messages[3].tool_call_id, "functions.b.c-d:1");
  EXPECT_EQ(messages[4].tool_call_id, "unknown");
}

TEST(ToolDeclaration, GivesUpOnWhatTheFormCannotSay) {
  for (const char* const schema : {R"({"$ref":"http://x"})", R"({"title":"no type"})",
                                   R"({"$ref":"#/$defs/none"})", R"({"type":["odd"]})"}) {
    const Json tools = Parsed(std::string(R"([{"name":"f","parameters":{"type":"object",)") +
                              R"("properties":{"x":)" + schema + "}}}]");
    EXPECT_EQ(ToolsAsTypeScript(tools), std::nullopt) << schema;
  }
}

TEST(ChatTemplate, IsFoundWhereCheckpointsKeepIt) {
  const stoker::testing::ScratchDir folder;
  EXPECT_EQ(ChatTemplate::Load(folder.path()).status().code(), absl::StatusCode::kNotFound);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  const ChatRequest request{.messages = {User("x")}};
  const auto prompt = [&](const ChatRequest& asked) {
    const auto chat = ChatTemplate::Load(folder.path());
    EXPECT_TRUE(chat.ok()) << chat.status();
    return chat.ok() ? Prompt(*chat, asked) : "";
  };
  write("config.json", R"({"model_type": "kimi_k25"})");
  EXPECT_THAT(prompt(request), HasSubstr("<|im_user|>user<|im_middle|>x<|im_end|>"));
  write("tokenizer_config.json",
        R"({"bos_token": {"content": "<s>"}, "chat_template": [{"name": "default", "template":)"
        R"( "{{ bos_token }}D"}, {"name": "tool_use", "template": "T{{ tools | length }}"}]})");
  EXPECT_EQ(prompt(request), "<s>D");
  EXPECT_EQ(prompt({.messages = {User("x")}, .tools = Parsed(kTools)}), "T1");
  write("chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ(prompt(request), "x");
  EXPECT_EQ(prompt({.messages = {{.role = "user", .content = {"a", "b"}}}}), "a\nb");
  write("chat_template.jinja", "\n{% if %}");
  const auto broken = ChatTemplate::Load(folder.path());
  EXPECT_THAT(Message(broken.status()), HasSubstr("line 2 of the template"));
}

TEST(ChatTemplate, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  for (const char* const name :
       {"chat_template.jinja", "chat_template.json", "tokenizer_config.json", "config.json"}) {
    const stoker::testing::ScratchDir folder;
    std::filesystem::create_symlink(name, folder / name);  // a link to itself
    EXPECT_THAT(Message(ChatTemplate::Load(folder.path()).status()), HasSubstr(name));
  }
  const stoker::testing::ScratchDir folder;
  std::filesystem::create_symlink(std::string(300, 'x'), folder / "chat_template.jinja");
  EXPECT_THAT(Message(ChatTemplate::Load(folder.path()).status()),
              HasSubstr("chat_template.jinja"));
}

TEST(ChatTemplate, ATemplateThatIsNotUtf8IsRefusedWithItsFolder) {
  const stoker::testing::ScratchDir folder;
  std::ofstream(folder / "chat_template.jinja") << "ab\xFF";
  EXPECT_THAT(Message(ChatTemplate::Load(folder.path()).status()),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("chat template"),
                    HasSubstr("not valid UTF-8 at byte 2 (0xFF)")));
}

TEST(ChatTemplate, RefusesTextThatIsNotUtf8) {
  const auto prompt = ChatTemplate::Kimi(Layout::kK25).Render({.messages = {User("a\xFF")}});
  EXPECT_EQ(prompt.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(prompt.status()), HasSubstr("byte 1 is not valid UTF-8"));
}

TEST(ChatTemplate, ArgumentsCannotReplaceTheConversation) {
  const auto chat = ChatTemplate::FromText("{{ messages | length }}{{ bos_token }}{{ extra }}",
                                           {{"bos_token", "<s>"}});
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(Prompt(*chat, {.messages = {User("x")},
                           .arguments = {{"messages", nullptr}, {"bos_token", "!"}, {"extra", 7}}}),
            "1<s>7");
}

}  // namespace
}  // namespace stoker::text
