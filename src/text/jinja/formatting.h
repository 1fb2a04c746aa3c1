#pragma once

#include "text/jinja/runtime.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// Python's `format % arguments`, where arguments are a tuple, a dict or one value.
Value FormatPercent(Runtime& runtime, const Value& format, const Value& arguments);

/// Python's format.format(...): fields by position or name with attributes and items, !r and !s,
/// and the standard format specifications of strings and numbers.
Value FormatBraces(Runtime& runtime, const Value& format, const Arguments& arguments);

}  // namespace stoker::text::jinja
