#include "checkpoint/shard_index.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/strict_sax.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "sys/file.h"

namespace stoker::checkpoint {
namespace {

constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{512} << 20;

bool IsPlainFileName(std::string_view name) {
  return name.size() > kSuffix.size() && name.size() < 256 && name.ends_with(kSuffix) &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

// Receives {"metadata": anything, "weight_map": {tensor: shard}, other keys: anything}.
class IndexHandler : public StrictSax {
 public:
  ShardIndex index;
  bool has_map = false;

  bool null() override { return Skipping() || Unexpected("null"); }
  bool boolean(bool /*value*/) override { return Skipping() || Unexpected("true or false"); }
  bool number_integer(number_integer_t /*value*/) override {
    return Skipping() || Unexpected("a number");
  }
  bool number_unsigned(number_unsigned_t /*value*/) override {
    return Skipping() || Unexpected("a number");
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return Skipping() || Unexpected("a number");
  }

  bool start_object(std::size_t /*elements*/) override {
    if (depth_ == 1 && in_map_ && has_map)
      return Fail(InvalidArgument("weight_map is there twice"));
    if (depth_ == 1 && in_map_) has_map = true;
    return Open("an object");
  }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ == 0 || (depth_ == 1 && in_map_)) return Unexpected("a list");
    return Open("a list");
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& text) override {
    if (depth_ == 1) in_map_ = text == "weight_map";
    if (depth_ == 2 && in_map_) tensor_ = std::move(text);
    return true;
  }

  bool string(string_t& text) override {
    if (Skipping()) return true;
    if (depth_ != 2) return Unexpected("a string");
    if (!IsPlainFileName(text)) {
      return Fail(
          InvalidArgument("tensor {} is said to be in {}, which is not the name of a "
                          ".safetensors file in this folder",
                          QuotedName(tensor_), QuotedName(text)));
    }
    index.locations.push_back({std::move(tensor_), Shard(text)});
    return true;
  }

  bool Unexpected(std::string_view what) override {
    return Fail(
        InvalidArgument("not {{\"weight_map\": {{tensor: shard}}}}: {} stands where it must "
                        "not",
                        what));
  }

 private:
  // Whether the parse is inside something that Stoker has no use for.
  [[nodiscard]] bool Skipping() const { return depth_ > 0 && !in_map_; }

  bool Open(std::string_view what) {
    if (depth_ == 2 && in_map_) return Unexpected(what);
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    return true;
  }

  std::size_t Shard(const std::string& name) {
    const auto [place, is_new] = shard_numbers_.try_emplace(name, index.shards.size());
    if (is_new) index.shards.push_back(name);
    return place->second;
  }

  int depth_ = 0;
  bool in_map_ = false;
  std::string tensor_;
  std::unordered_map<std::string, std::size_t> shard_numbers_;
};

absl::Status CheckTensorsDiffer(const ShardIndex& index) {
  std::vector<std::string_view> names;
  names.reserve(index.locations.size());
  for (const ShardIndex::Location& location : index.locations) names.push_back(location.tensor);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return InvalidArgument("tensor {} is there twice", QuotedName(*twice));
}

// Files named "STEM-00002-of-00005.safetensors" say how many belong together.
absl::Status CheckComplete(const std::filesystem::path& dir, const std::set<std::string>& files) {
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kTail = kDigits + kOf.size() + kDigits + kSuffix.size();
  for (const std::string& file : files) {
    if (file.size() < kTail) continue;
    const std::string stem = file.substr(0, file.size() - kTail);
    const std::string count_text = file.substr(file.size() - kSuffix.size() - kDigits, kDigits);
    std::uint32_t count = 0;
    if (file.compare(stem.size() + kDigits, kOf.size(), kOf) != 0 ||
        !absl::SimpleAtoi(count_text, &count)) {
      continue;
    }
    for (std::uint32_t shard = 1; shard <= count; ++shard) {
      const std::string wanted =
          fmt::format("{}{:05}{}{}{}", stem, shard, kOf, count_text, kSuffix);
      if (!files.contains(wanted)) {
        return NotFound("{}: shard {} is missing", dir.string(), QuotedName(wanted));
      }
    }
    break;  // the others are of the same set
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardIndex> ParseShardIndex(std::string_view json_text) {
  IndexHandler handler;
  STOKER_RETURN_IF_ERROR(handler.Run(json_text, "the index"));
  if (!handler.has_map || handler.index.locations.empty()) {
    return InvalidArgument("the index has no weight_map, or an empty one");
  }
  STOKER_RETURN_IF_ERROR(CheckTensorsDiffer(handler.index));
  return std::move(handler.index);
}

absl::StatusOr<ShardIndex> FindShards(const std::filesystem::path& dir) {
  std::error_code error;
  const std::filesystem::path index_path = dir / kIndexName;
  // A link that leads nowhere is there too, and an error when it is opened.
  const auto is_there = [&error](const std::filesystem::path& path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path, error));
  };
  if (is_there(index_path)) {
    STOKER_ASSIGN_OR_RETURN(const std::string text, sys::ReadTextFile(index_path, kMaxIndexBytes));
    auto index = ParseShardIndex(text);
    if (!index.ok()) return At(index_path.string(), index.status());
    return index;
  }
  ShardIndex index;
  if (is_there(dir / kSingleName)) {
    index.shards = {std::string(kSingleName)};
    return index;
  }
  std::set<std::string> files;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (IsPlainFileName(name)) files.insert(std::move(name));
  }
  if (error) return Unavailable("{}: cannot list the folder: {}", dir.string(), error.message());
  if (files.empty()) {
    return NotFound("{}: no {} and no *.safetensors files there", dir.string(), kIndexName);
  }
  STOKER_RETURN_IF_ERROR(CheckComplete(dir, files));
  index.shards.assign(files.begin(), files.end());
  return index;
}

std::string FormatShardIndex(const ShardIndex& index, std::uint64_t total_bytes) {
  std::string text =
      fmt::format("{{\n \"metadata\": {{\"total_size\": {}}},\n \"weight_map\": {{", total_bytes);
  std::string_view separator = "\n  ";
  for (const ShardIndex::Location& location : index.locations) {
    fmt::format_to(std::back_inserter(text), "{}{}: {}", separator,
                   nlohmann::json(location.tensor).dump(),
                   nlohmann::json(index.shards[location.shard]).dump());
    separator = ",\n  ";
  }
  return text + "\n }\n}\n";
}

}  // namespace stoker::checkpoint
