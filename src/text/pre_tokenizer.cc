#include "text/pre_tokenizer.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/status.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

struct Part {
  ByteSpan span;
  bool is_match;
};

std::string_view Cut(std::string_view text, ByteSpan span) {
  return text.substr(span.begin, span.size());
}

// Visits matches and the gaps between them, in order, none of them empty. An empty match only
// parts what lies on its two sides.
absl::Status VisitParts(Matcher& matcher, std::string_view text, bool invert,
                        absl::FunctionRef<absl::Status(Part)> visit) {
  std::size_t done = 0;
  std::size_t search = 0;
  while (search < text.size()) {
    STOKER_ASSIGN_OR_RETURN(const std::optional<ByteSpan> match, matcher.Find(text, search));
    if (!match.has_value()) break;
    if (done < match->begin) {
      STOKER_RETURN_IF_ERROR(visit({{done, match->begin}, invert}));
    }
    done = match->end;
    search = match->end;
    if (match->size() != 0) {
      STOKER_RETURN_IF_ERROR(visit({*match, !invert}));
    } else if (search < text.size()) {
      search += FirstUtf8Unit(text.substr(search)).bytes;
    }
  }
  if (done < text.size()) return visit({{done, text.size()}, invert});
  return absl::OkStatus();
}

// The pieces that parts form, back to front or front to back as the behaviour reads them.
std::vector<ByteSpan> JoinParts(std::vector<Part> parts, SplitBehavior behavior) {
  std::vector<ByteSpan> pieces;
  const bool backwards = behavior == SplitBehavior::kMergedWithNext;
  if (backwards) std::reverse(parts.begin(), parts.end());
  bool previous_match = false;
  for (const Part& part : parts) {
    bool join = false;
    switch (behavior) {
      case SplitBehavior::kIsolated:
      case SplitBehavior::kRemoved:
        break;
      case SplitBehavior::kMergedWithPrevious:
      case SplitBehavior::kMergedWithNext:
        join = part.is_match && !previous_match;
        break;
      case SplitBehavior::kContiguous:
        join = part.is_match == previous_match;
        break;
    }
    previous_match = part.is_match;
    if (behavior == SplitBehavior::kRemoved && part.is_match) continue;
    if (join && !pieces.empty()) {
      (backwards ? pieces.back().begin : pieces.back().end) =
          backwards ? part.span.begin : part.span.end;
    } else {
      pieces.push_back(part.span);
    }
  }
  if (backwards) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace

PreTokenizer::Session::Session(const PreTokenizer& pre_tokenizer) : pre_tokenizer_(pre_tokenizer) {
  for (const SplitStage& stage : pre_tokenizer.stages_) {
    matcher_index_.push_back(matchers_.size());
    if (stage.kind != SplitStage::Kind::kSplit) continue;
    STOKER_CHECK(stage.pattern != nullptr);
    matchers_.emplace_back(*stage.pattern);
  }
}

absl::Status PreTokenizer::Session::Split(std::string_view text, Sink sink) {
  for (Matcher& matcher : matchers_) matcher.AllowFor(text.size());
  return RunStage(0, text, sink);
}

absl::Status PreTokenizer::Session::RunStage(std::size_t stage, std::string_view text, Sink sink) {
  if (text.empty()) return absl::OkStatus();
  if (stage == pre_tokenizer_.stages_.size()) {
    sink(text);
    return absl::OkStatus();
  }
  const SplitStage& how = pre_tokenizer_.stages_[stage];
  if (how.kind == SplitStage::Kind::kPrefixSpace) {
    if (text.starts_with(' ')) return RunStage(stage + 1, text, sink);
    return RunStage(stage + 1, " " + std::string(text), sink);
  }
  Matcher& matcher = matchers_[matcher_index_[stage]];
  if (how.behavior == SplitBehavior::kIsolated) {
    return VisitParts(matcher, text, how.invert,
                      [&](Part part) { return RunStage(stage + 1, Cut(text, part.span), sink); });
  }
  std::vector<Part> parts;
  STOKER_RETURN_IF_ERROR(VisitParts(matcher, text, how.invert, [&](Part part) {
    parts.push_back(part);
    return absl::OkStatus();
  }));
  for (const ByteSpan& piece : JoinParts(std::move(parts), how.behavior)) {
    STOKER_RETURN_IF_ERROR(RunStage(stage + 1, Cut(text, piece), sink));
  }
  return absl::OkStatus();
}

}  // namespace stoker::text
