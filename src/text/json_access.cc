#include "text/json_access.h"

#include "base/json.h"
#include "base/status.h"
#include "sys/file.h"

namespace stoker::text {

absl::StatusOr<std::optional<std::string>> ReadIfThere(const std::filesystem::path& path,
                                                       std::uint64_t max_bytes) {
  auto contents = sys::ReadTextFile(path, max_bytes);
  if (absl::IsNotFound(contents.status())) return std::nullopt;
  if (!contents.ok()) return contents.status();
  return *std::move(contents);
}

absl::StatusOr<nlohmann::json> ParseObject(std::string_view name,
                                           const std::optional<std::string>& contents) {
  if (!contents.has_value()) return nlohmann::json::object();
  auto parsed = ParseJson(*contents);
  if (!parsed.ok()) return At(name, parsed.status());
  if (!parsed->is_object()) return InvalidArgument("{}: not a JSON object", name);
  return parsed;
}

absl::StatusOr<nlohmann::json> ReadObject(const std::filesystem::path& path) {
  STOKER_ASSIGN_OR_RETURN(const std::optional<std::string> contents, ReadIfThere(path));
  return ParseObject(path.string(), contents);
}

}  // namespace stoker::text
