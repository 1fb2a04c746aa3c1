#pragma once

#include <map>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// input | name(arguments). Fails for an unknown name.
Value ApplyFilter(Runtime& runtime, std::string_view name, const Value& input,
                  const Arguments& arguments);

/// Whether there is a filter of that name.
bool IsFilter(std::string_view name);

using Filter = Value (*)(Runtime& runtime, const Value& input, const Arguments& arguments);
using FilterTable = std::map<std::string_view, Filter>;

// The filters by what they work on.
const FilterTable& TextFilters();
const FilterTable& NumberFilters();
const FilterTable& SequenceFilters();
const FilterTable& SelectionFilters();

}  // namespace stoker::text::jinja
