#include "text/stop.h"

#include <algorithm>

#include "base/status.h"
#include "text/quote.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

constexpr std::size_t kMostStops = 64;
constexpr std::size_t kLongestStopBytes = 4096;

std::vector<std::size_t> FallbackTable(std::string_view pattern) {
  std::vector<std::size_t> fallback(pattern.size() + 1, 0);
  std::size_t matched = 0;
  for (std::size_t i = 1; i < pattern.size(); ++i) {
    while (matched > 0 && pattern[i] != pattern[matched]) matched = fallback[matched];
    if (pattern[i] == pattern[matched]) ++matched;
    fallback[i + 1] = matched;
  }
  return fallback;
}

}  // namespace

absl::StatusOr<StopMatcher> StopMatcher::Create(const std::vector<std::string>& stops) {
  if (stops.size() > kMostStops) {
    return InvalidArgument("{} stop strings, more than {}", stops.size(), kMostStops);
  }
  StopMatcher matcher;
  for (const std::string& stop : stops) {
    if (stop.empty()) return InvalidArgument("a stop string is empty");
    if (stop.size() > kLongestStopBytes) {
      return InvalidArgument("a stop string has {} bytes, more than {}", stop.size(),
                             kLongestStopBytes);
    }
    if (FindInvalidUtf8(stop).has_value()) {
      return InvalidArgument("stop string {} is not valid UTF-8", Quote(stop));
    }
    matcher.patterns_.push_back({.text = stop, .fallback = FallbackTable(stop)});
  }
  return matcher;
}

const StopMatcher::Pattern* StopMatcher::Advance(char byte) {
  const Pattern* complete = nullptr;
  for (Pattern& pattern : patterns_) {
    while (pattern.matched > 0 && pattern.text[pattern.matched] != byte) {
      pattern.matched = pattern.fallback[pattern.matched];
    }
    if (pattern.text[pattern.matched] == byte) ++pattern.matched;
    if (pattern.matched != pattern.text.size()) continue;
    if (complete == nullptr || complete->text.size() < pattern.text.size()) complete = &pattern;
  }
  return complete;
}

StopMatcher::Output StopMatcher::Push(std::string_view chunk) {
  if (stopped_) return {.text = "", .stopped = true};
  std::string text = std::move(held_);
  held_.clear();
  for (const char byte : chunk) {
    text += byte;
    const Pattern* complete = Advance(byte);
    if (complete == nullptr) continue;
    stopped_ = true;
    text.resize(text.size() - complete->text.size());
    return {.text = std::move(text), .stopped = true};
  }
  std::size_t held_bytes = 0;
  for (const Pattern& pattern : patterns_) held_bytes = std::max(held_bytes, pattern.matched);
  held_ = text.substr(text.size() - held_bytes);
  text.resize(text.size() - held_bytes);
  return {.text = std::move(text), .stopped = false};
}

std::string StopMatcher::Flush() {
  std::string text = std::move(held_);
  held_.clear();
  for (Pattern& pattern : patterns_) pattern.matched = 0;
  return text;
}

}  // namespace stoker::text
