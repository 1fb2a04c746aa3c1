#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace stoker::text {

/// The largest configuration file or template of a model folder that makes sense.
inline constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20U;

/// The contents of a file of a model folder; none where there is no such file.
/// Errors: as sys::ReadTextFile.
absl::StatusOr<std::optional<std::string>> ReadIfThere(const std::filesystem::path& path,
                                                       std::uint64_t max_bytes = kMaxConfigBytes);

/// The JSON object in the contents of the file `name`; an empty one where there are no contents.
/// Errors: kInvalidArgument, naming the file, for anything else.
absl::StatusOr<nlohmann::json> ParseObject(std::string_view name,
                                           const std::optional<std::string>& contents);

/// Both at once.
absl::StatusOr<nlohmann::json> ReadObject(const std::filesystem::path& path);

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
