#pragma once

#include <string_view>

#include "text/jinja/statements.h"

namespace stoker::text::jinja {

/// Parses a template into its statements. Throws Failure.
Block ParseTemplate(std::string_view source);

}  // namespace stoker::text::jinja
