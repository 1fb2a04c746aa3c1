#include "checkpoint/config_fields.h"

#include <cmath>
#include <utility>

#include "fmt/format.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;

// A value as an error message shows it: short, and on one line.
std::string Shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array() && value.size() > 4) return "a list";
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = fmt::format("{}...", text.substr(0, kLongest));
  return text;
}

std::string Described(SizeRange range) {
  if (range.min == range.max) return fmt::format("{}", range.min);
  return fmt::format("a whole number from {} to {}", range.min, range.max);
}

std::string Described(NumberRange range) {
  return fmt::format("a number above {} and at most {}", range.above, range.max);
}

}  // namespace

ConfigFields::ConfigFields(const json& object, std::string path)
    : object_(&object), path_(std::move(path)) {}

void ConfigFields::Fail(absl::Status error) {
  if (status_.ok()) status_ = std::move(error);
}

const json* ConfigFields::Value(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string ConfigFields::Quoted(std::string_view key) const {
  return fmt::format("\"{}{}\"", path_, key);
}

void ConfigFields::Record(absl::StatusCode code, std::string_view key, std::string_view accepted) {
  const json* value = Value(key);
  const std::string found = value == nullptr ? "missing" : Shown(*value);
  const std::string_view rule =
      code == absl::StatusCode::kUnimplemented ? "Stoker supports" : "it must be";
  Fail(absl::Status(code, fmt::format("{} is {}; {} {}", Quoted(key), found, rule, accepted)));
}

void ConfigFields::Mismatch(std::string_view key, std::string_view accepted) {
  Record(absl::StatusCode::kInvalidArgument, key, accepted);
}

void ConfigFields::Unsupported(std::string_view key, std::string_view accepted) {
  Record(absl::StatusCode::kUnimplemented, key, accepted);
}

std::optional<std::size_t> ConfigFields::ReadSize(const json& value, SizeRange range) const {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number < range.min || number > range.max) return std::nullopt;
  return number;
}

std::size_t ConfigFields::Size(std::string_view key, SizeRange range) {
  const json* value = Value(key);
  const auto size = value == nullptr ? std::nullopt : ReadSize(*value, range);
  if (!size) Mismatch(key, Described(range));
  return size.value_or(range.min);
}

std::size_t ConfigFields::Size(std::string_view key, SizeRange range, std::size_t fallback) {
  return Has(key) ? Size(key, range) : fallback;
}

double ConfigFields::Number(std::string_view key, NumberRange range) {
  const json* value = Value(key);
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number) && number > range.above && number <= range.max) return number;
  }
  Mismatch(key, Described(range));
  return range.max;
}

double ConfigFields::Number(std::string_view key, NumberRange range, double fallback) {
  return Has(key) ? Number(key, range) : fallback;
}

bool ConfigFields::Bool(std::string_view key, bool fallback) {
  const json* value = Value(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Mismatch(key, "true or false");
  return fallback;
}

std::string ConfigFields::Text(std::string_view key, std::string_view fallback) {
  const json* value = Value(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  Mismatch(key, "a string");
  return std::string(fallback);
}

std::vector<std::size_t> ConfigFields::Sizes(std::string_view key, SizeRange range) {
  const json* value = Value(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {Size(key, range)};
  constexpr std::size_t kLongestList = 64;
  std::vector<std::size_t> sizes;
  for (const json& element : *value) {
    const auto size = ReadSize(element, range);
    if (!size || sizes.size() == kLongestList) {
      Mismatch(key, fmt::format("{}, or a list of up to {}", Described(range), kLongestList));
      return {};
    }
    sizes.push_back(*size);
  }
  return sizes;
}

std::optional<ConfigFields> ConfigFields::Object(std::string_view key) {
  const json* value = Value(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    Mismatch(key, "an object");
    return std::nullopt;
  }
  return ConfigFields(*value, fmt::format("{}{}.", path_, key));
}

}  // namespace stoker::checkpoint
