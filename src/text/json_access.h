#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nlohmann/json.hpp"

namespace stoker::text {

/// The member `key` of an object; nullptr where it is missing or null, or `value` is no object.
inline const nlohmann::json* Member(const nlohmann::json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  const auto it = value.find(key);
  return it == value.end() || it->is_null() ? nullptr : &*it;
}

/// The member `key` as text; none where it is missing or something else.
inline std::optional<std::string_view> StringMember(const nlohmann::json& value,
                                                    std::string_view key) {
  const nlohmann::json* member = Member(value, key);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return std::string_view(member->get_ref<const std::string&>());
}

/// The member `key` as a truth value; `otherwise` where it is missing or something else.
inline bool BoolMember(const nlohmann::json& value, std::string_view key, bool otherwise) {
  const nlohmann::json* member = Member(value, key);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : otherwise;
}

/// A whole number in [0, limit).
inline std::optional<std::uint64_t> IntegerBelow(const nlohmann::json& value, std::uint64_t limit) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number >= limit) return std::nullopt;
  return number;
}

}  // namespace stoker::text
