#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "text/regex.h"

namespace stoker::text {

/// What becomes of the parts that a split's pattern matches (names as in tokenizer.json).
enum class SplitBehavior {
  kIsolated,            ///< a piece of its own
  kRemoved,             ///< dropped
  kMergedWithPrevious,  ///< the end of the piece before it
  kMergedWithNext,      ///< the start of the piece after it
  kContiguous,          ///< neighbouring matches form one piece
};

/// One step of cutting text into pieces.
struct SplitStage {
  enum class Kind {
    kSplit,        ///< cut by `pattern`
    kPrefixSpace,  ///< put a space before a piece that does not start with one
  };
  Kind kind = Kind::kSplit;
  std::shared_ptr<const Regex> pattern;  ///< of kSplit
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< what does not match counts as the match
};

/// Cuts text into the pieces that BPE merges within; each stage cuts the pieces of the one before.
/// Immutable and shared between threads; a Session is one thread's.
class PreTokenizer {
 public:
  using Sink = absl::FunctionRef<void(std::string_view piece)>;

  explicit PreTokenizer(std::vector<SplitStage> stages) : stages_(std::move(stages)) {}

  class Session {
   public:
    explicit Session(const PreTokenizer& pre_tokenizer);

    /// Hands every non-empty piece of `text` (valid UTF-8) to `sink`, in order. Text that no
    /// pattern matches is a piece too. Errors: as Matcher::Find, whose work counts over all texts
    /// of the session.
    absl::Status Split(std::string_view text, Sink sink);

   private:
    absl::Status RunStage(std::size_t stage, std::string_view text, Sink sink);

    const PreTokenizer& pre_tokenizer_;
    std::vector<Matcher> matchers_;           // one a kSplit stage, in order
    std::vector<std::size_t> matcher_index_;  // by stage
  };

 private:
  std::vector<SplitStage> stages_;
};

}  // namespace stoker::text
