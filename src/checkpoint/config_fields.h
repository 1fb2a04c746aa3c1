#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace stoker::checkpoint {

/// The whole numbers that a field accepts, both ends included.
struct SizeRange {
  std::size_t min = 0;
  std::size_t max = 0;
};

/// The finite numbers that a field accepts: above `above`, at most `max`.
struct NumberRange {
  double above = 0;
  double max = 0;
};

/// Reads the fields of one JSON object, each against what it must be, and keeps the first error: so
/// that a reader states its fields one after another and checks once, at the end. After an error
/// every call returns something harmless. `null` counts as absent.
class ConfigFields {
 public:
  /// `object` must outlive this. `path` goes before each key in messages: "text_config.".
  ConfigFields(const nlohmann::json& object, std::string path);

  /// The first error, or OK. kInvalidArgument names the key, what was found, what is accepted.
  [[nodiscard]] const absl::Status& status() const { return status_; }
  /// Keeps `error` unless there already is one.
  void Fail(absl::Status error);

  [[nodiscard]] bool Has(std::string_view key) const { return Value(key) != nullptr; }
  /// The value, or null when absent.
  [[nodiscard]] const nlohmann::json* Value(std::string_view key) const;
  /// "path.key" as messages show it, in quotes.
  [[nodiscard]] std::string Quoted(std::string_view key) const;

  /// What `key` holds; without a fallback it must be there.
  std::size_t Size(std::string_view key, SizeRange range);
  std::size_t Size(std::string_view key, SizeRange range, std::size_t fallback);
  double Number(std::string_view key, NumberRange range);
  double Number(std::string_view key, NumberRange range, double fallback);
  bool Bool(std::string_view key, bool fallback);
  std::string Text(std::string_view key, std::string_view fallback);
  /// One whole number or a list of them; empty when absent.
  std::vector<std::size_t> Sizes(std::string_view key, SizeRange range);

  /// The object under `key`; nothing when absent, and nothing with an error when not an object.
  std::optional<ConfigFields> Object(std::string_view key);

  /// Records that `key` holds something else than `accepted`.
  void Mismatch(std::string_view key, std::string_view accepted);
  /// Records kUnimplemented: Stoker does not run what `key` says.
  void Unsupported(std::string_view key, std::string_view accepted);

 private:
  std::optional<std::size_t> ReadSize(const nlohmann::json& value, SizeRange range) const;
  void Record(absl::StatusCode code, std::string_view key, std::string_view accepted);

  const nlohmann::json* object_;
  std::string path_;
  absl::Status status_;
};

}  // namespace stoker::checkpoint
