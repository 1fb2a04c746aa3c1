#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// The name of a function as a template argument: Method<"lower">.
struct FunctionName {
  template <std::size_t size>
  consteval FunctionName(const char (&name)[size]) {  // NOLINT(google-explicit-constructor)
    static_assert(size <= sizeof(text));
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
  [[nodiscard]] constexpr std::string_view view() const { return text; }

  char text[16] = {};
};

/// The arguments of a call, matched to parameter names as Python does. Fails where Python would:
/// too many, unknown names, a required one missing, or one given twice.
class Bound {
 public:
  /// `names` are the parameters in order, at most 6; the first `required` of them have no default.
  Bound(std::string_view function, const Arguments& arguments,
        std::initializer_list<std::string_view> names, std::size_t required = 0);

  /// Whether the caller gave it, and not None.
  [[nodiscard]] bool Has(std::size_t i) const;
  /// The argument, or undefined where it was not given.
  const Value& operator[](std::size_t i) const { return values_[i]; }

  // The argument as a type, or the default where it was not given. Fail for other types.
  [[nodiscard]] std::int64_t Int(std::size_t i, std::int64_t otherwise) const;
  [[nodiscard]] bool Bool(std::size_t i, bool otherwise) const;
  /// A string that must have been given.
  [[nodiscard]] const OriginText& Text(std::size_t i) const;

 private:
  std::string_view function_;
  std::array<Value, 6> values_{};
  std::array<bool, 6> given_{};
};

}  // namespace stoker::text::jinja
