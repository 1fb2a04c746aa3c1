#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stoker::text {

/// Ends a stream of text at the first of several strings. Text that may turn out to be the start
/// of a stop string is held back until that is clear. The result does not depend on how the text
/// is cut into chunks: the string that is complete first wins, of those complete at the same
/// character the longest. One thread at a time.
class StopMatcher {
 public:
  /// What may go out now.
  struct Output {
    std::string text;  ///< whole characters, as the chunks have to be
    bool stopped = false;
  };

  /// Errors: kInvalidArgument for an empty stop string, one that is not UTF-8, more than 64 of
  /// them, or more than 4096 bytes in one.
  static absl::StatusOr<StopMatcher> Create(const std::vector<std::string>& stops);

  /// Takes the next chunk. Once stopped, takes nothing and returns nothing.
  Output Push(std::string_view chunk);

  /// The text held back, when the stream ends by itself.
  std::string Flush();

  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  // A stop string with its Knuth-Morris-Pratt table.
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // by matched length: the longest shorter match it ends with
    std::size_t matched = 0;            // how many of its bytes the stream now ends with
  };

  // The longest pattern that `byte` completes, nullptr for none.
  const Pattern* Advance(char byte);

  std::vector<Pattern> patterns_;
  std::string held_;  // a proper prefix of some pattern
  bool stopped_ = false;
};

}  // namespace stoker::text
