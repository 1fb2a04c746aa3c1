#pragma once

#include <string_view>

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// input is name(arguments). Fails for an unknown name.
bool RunTest(Runtime& runtime, std::string_view name, const Value& input,
             const Arguments& arguments);

}  // namespace stoker::text::jinja
