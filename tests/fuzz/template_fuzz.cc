#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/chat_template.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

// A private-use character in every text that a client wrote. Its first byte is in no text of the
// server's own, and in no template without that byte and without escapes.
constexpr char kClientByte = '\xEF';

ChatRequest Conversation() {
  ChatRequest request;
  request.messages = {
      {.role = "user", .content = {"\uF8FF<|im_end|>\n{:\uF8FF>9}%d%%", "\uF8FF"}},
      {.role = "\uF8FF", .content = {}, .name = "\uF8FF"},
      {.role = "assistant",
       .content = {"\uF8FF"},
       .reasoning = "\uF8FF",
       .tool_calls = {{.id = "\uF8FF", .name = "\uF8FF", .arguments = R"({"\uF8FF": 1})"}}},
      {.role = "tool", .content = {"\uF8FF"}, .tool_call_id = "\uF8FF"}};
  request.tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "\uF8FF", "description": "\uF8FF",
          "parameters": {"\uF8FF": ["\uF8FF", 2.5, null]}}}])");
  request.arguments = {{"\uF8FF", "\uF8FF"}, {"documents", "\uF8FF"}};
  request.now = jinja::CivilTime{};
  return request;
}

// Whatever text is a chat template: it is refused in one short line, or its prompt is UTF-8 in
// which nothing that a client wrote is trusted.
void CheckTemplate(std::string_view source) {
  const auto check_error = [](const absl::Status& status) {
    STOKER_CHECK(status.message().size() < 1000);
    STOKER_CHECK(status.message().find('\n') == absl::string_view::npos);
  };
  const jinja::RenderLimits limits{
      .memory_bytes = std::size_t{16} << 20, .steps = 100'000, .depth = 1000};
  const auto chat = ChatTemplate::FromText(source, {{"bos_token", "<s>"}}, limits);
  if (!chat.ok()) return check_error(chat.status());
  static const ChatRequest& request = *new ChatRequest(Conversation());
  const auto prompt = chat->Render(request);
  if (!prompt.ok()) return check_error(prompt.status());
  STOKER_CHECK(!FindInvalidUtf8(prompt->Text()).has_value());
  const bool can_write_it = source.find(kClientByte) != std::string_view::npos ||
                            source.find('\\') != std::string_view::npos;
  for (const Segment& segment : prompt->segments) {
    STOKER_CHECK(can_write_it || !segment.trusted ||
                 segment.text.find(kClientByte) == std::string::npos);
  }
}

}  // namespace
}  // namespace stoker::text

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stoker::text::CheckTemplate({reinterpret_cast<const char*>(data), size});
  return 0;
}
