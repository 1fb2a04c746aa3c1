// Renders templates for other programs: for each line of standard input, a JSON object
// {"template": text, "context": object, "now": [year, month, day, hour, minute, second]}, writes a
// line {"output": text} or {"error": message}.
#include <iostream>
#include <string>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/jinja/template.h"

namespace {

using Json = nlohmann::ordered_json;
namespace jinja = stoker::text::jinja;

jinja::RenderOptions Options(const Json& request) {
  jinja::RenderOptions options;
  if (request.contains("now")) {
    const Json& now = request["now"];
    options.now = jinja::CivilTime{now[0], now[1], now[2], now[3], now[4], now[5]};
  }
  return options;
}

Json Answer(const Json& request) {
  const auto parsed = jinja::Template::Parse(request.at("template").get<std::string>());
  if (!parsed.ok()) return {{"error", stoker::Message(parsed.status())}};
  std::vector<jinja::Variable> variables;
  for (const auto& [name, value] : request.at("context").items()) {
    variables.push_back({.name = name, .value = &value});
  }
  const auto rendered = parsed->Render(variables, Options(request));
  if (!rendered.ok()) return {{"error", stoker::Message(rendered.status())}};
  return {{"output", rendered->Text()}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json answer = Answer(Json::parse(line));
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
}
