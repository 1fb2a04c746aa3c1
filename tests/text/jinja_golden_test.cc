#include <fstream>

#include "base/status.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"
#include "text/jinja/template.h"

namespace stoker::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

// What kind of error it is, so that a snippet which fails for another reason than jinja2's, such as
// a filter that is not there, does not count as agreement.
std::string_view KindOfFailure(bool parsed, std::string_view message) {
  const auto says = [&](std::string_view text) { return message.find(text) != message.npos; };
  if (!parsed) return "syntax";
  if (says("no filter named") || says("no test named")) return "unknown name";
  if (says("is undefined") || says("has no attribute") || says("no else section")) {
    return "undefined";
  }
  return "value";
}

std::string_view KindOfException(std::string_view error) {
  const std::string_view name = error.substr(0, error.find(':'));
  if (name == "TemplateSyntaxError" || name == "SyntaxError") return "syntax";
  if (name == "TemplateAssertionError") return "unknown name";
  return name == "UndefinedError" ? "undefined" : "value";
}

TEST(JinjaGolden, SnippetsComeOutAsJinja2WroteThem) {
  std::ifstream file(stoker::testing::SourcePath("tests/golden/templates/snippets.json"));
  const Json golden = Json::parse(file);
  std::vector<Variable> variables;
  for (const auto& [name, value] : golden["context"].items()) {
    variables.push_back({.name = name, .value = &value});
  }
  const Json& now = golden["now"];
  RenderOptions options;
  options.now = CivilTime{now[0], now[1], now[2], now[3], now[4], now[5]};
  ASSERT_GT(golden["cases"].size(), 600U);
  for (const Json& snippet : golden["cases"]) {
    const auto source = snippet["template"].get<std::string>();
    const auto parsed = Template::Parse(source);
    const auto rendered = parsed.ok() ? parsed->Render(variables, options) : parsed.status();
    if (snippet.contains("output")) {
      ASSERT_TRUE(rendered.ok()) << source << "\n" << rendered.status();
      EXPECT_EQ(rendered->Text(), snippet["output"].get<std::string>()) << source;
    } else {
      ASSERT_FALSE(rendered.ok()) << source << "\njinja2: " << snippet["error"];
      EXPECT_EQ(KindOfFailure(parsed.ok(), Message(rendered.status())),
                KindOfException(snippet["error"].get<std::string>()))
          << source << "\njinja2: " << snippet["error"] << "\nours: " << rendered.status();
    }
  }
}

}  // namespace
}  // namespace stoker::text::jinja
