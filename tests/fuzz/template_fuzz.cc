// Parses and renders whatever text as a template over a small conversation.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nlohmann/json.hpp"
#include "text/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace jinja = stoker::text::jinja;
  static const auto& messages = *new nlohmann::ordered_json(nlohmann::ordered_json::parse(
      R"([{"role": "user", "content": "Hé <b>", "n": [1, 2.5, null]},
          {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])"));
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto parsed = jinja::Template::Parse(source);
  if (!parsed.ok()) return 0;
  jinja::RenderOptions options;
  options.limits = {.memory_bytes = std::size_t{16} << 20, .steps = 100'000, .depth = 1000};
  options.now = jinja::CivilTime{};
  static_cast<void>(parsed->Render({{.name = "m", .value = &messages}}, options));
  return 0;
}
