#pragma once

#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"

namespace stoker::text {

/// Tool definitions as the TypeScript-like text that Kimi K2.5 and later were trained on. Keys are
/// sorted at every depth first, so that a client's order of keys does not change the prompt.
/// Nothing where a schema has what the form cannot say (the model then gets JSON); an empty text
/// where there is no function. Layout: MoonshotAI/Kimi-Vendor-Verifier, tool_declaration_ts.py.
std::optional<std::string> ToolsAsTypeScript(const nlohmann::ordered_json& tools);

}  // namespace stoker::text
