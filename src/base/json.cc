#include "base/json.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace stoker {
namespace {

constexpr int kDeepest = 200;

// Brackets outside strings, counted without building anything.
int DeepestNesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

// What the parser says, without its tag ("[json.exception.parse_error.101] parse error at line 1,
// column 2: …; last read: '…'") and without what it read last, where that is long.
std::string_view ShortMessage(std::string_view message) {
  constexpr std::size_t kLongestQuote = 80;
  if (const std::size_t tag = message.find("] "); tag != message.npos) {
    message.remove_prefix(tag + 2);
  }
  const std::size_t quote = message.find("; last read: ");
  if (quote != message.npos && message.size() - quote > kLongestQuote) {
    message = message.substr(0, quote);
  }
  return message;
}

// Watches a parse for a key that an object has twice: the last one would silently win.
class RepeatedKey {
 public:
  bool Watch(nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) objects_.emplace_back();
    if (event == Event::object_end) objects_.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!objects_.back().insert(key).second && found_.empty()) found_ = key;
    }
    return true;
  }

  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  std::vector<absl::flat_hash_set<std::string>> objects_;  // those that are open
  std::string found_;
};

template <typename Json>
absl::StatusOr<Json> Parse(std::string_view text,
                           const typename Json::parser_callback_t& watch = nullptr) {
  if (DeepestNesting(text) > kDeepest) {
    return InvalidArgument("JSON is nested more than {} levels deep", kDeepest);
  }
  try {
    return Json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("not valid JSON: {}", ShortMessage(error.what()));
  }
}

}  // namespace

absl::StatusOr<nlohmann::json> ParseJson(std::string_view text) {
  RepeatedKey repeated;
  auto parsed = Parse<nlohmann::json>(
      text, [&](int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& value) {
        return repeated.Watch(event, value);
      });
  if (parsed.ok() && !repeated.found().empty()) {
    return InvalidArgument("the key \"{}\" stands twice in one JSON object", repeated.found());
  }
  return parsed;
}

absl::StatusOr<nlohmann::ordered_json> ParseOrderedJson(std::string_view text) {
  return Parse<nlohmann::ordered_json>(text);
}

std::string DumpJson(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stoker
