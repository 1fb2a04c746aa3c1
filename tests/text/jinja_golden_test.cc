#include <fstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"
#include "text/jinja/template.h"

namespace stoker::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

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
      EXPECT_FALSE(rendered.ok()) << source << "\njinja2: " << snippet["error"];
    }
  }
}

}  // namespace
}  // namespace stoker::text::jinja
