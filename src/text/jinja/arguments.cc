#include "text/jinja/arguments.h"

#include <algorithm>

#include "base/check.h"
#include "text/jinja/failure.h"
#include "text/jinja/operations.h"

namespace stoker::text::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required)
    : function_(function) {
  STOKER_CHECK(names.size() <= values_.size());
  if (arguments.positional.size() > names.size()) {
    Fail("{}() takes at most {} arguments ({} given)", function, names.size(),
         arguments.positional.size());
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = arguments.positional[i];
    given_[i] = true;
  }
  for (const auto& [key, value] : arguments.named) {
    const std::string_view name = key.bytes();
    const auto* const found = std::find(names.begin(), names.end(), name);
    const auto i = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) {
      Fail("{}() got an unexpected keyword argument '{}'", function, name);
    }
    if (given_[i]) Fail("{}() got multiple values for argument '{}'", function, name);
    values_[i] = value;
    given_[i] = true;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!given_[i]) {
      Fail("{}() missing required argument '{}'", function, *(names.begin() + i));
    }
  }
}

bool Bound::Has(std::size_t i) const {
  return given_[i] && !values_[i].IsNone();
}

std::int64_t Bound::Int(std::size_t i, std::int64_t otherwise) const {
  if (!Has(i)) return otherwise;
  RequireDefined(values_[i]);
  if (!values_[i].IsInt() && !values_[i].IsBool()) {
    Fail("{}(): '{}' object cannot be interpreted as an integer", function_, TypeName(values_[i]));
  }
  return values_[i].AsInt();
}

bool Bound::Bool(std::size_t i, bool otherwise) const {
  return given_[i] ? Truthy(values_[i]) : otherwise;
}

const OriginText& Bound::Text(std::size_t i) const {
  RequireDefined(values_[i]);
  if (!values_[i].IsString()) {
    Fail("{}() argument must be str, not {}", function_, TypeName(values_[i]));
  }
  return values_[i].text();
}

}  // namespace stoker::text::jinja
