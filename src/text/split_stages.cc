#include "text/split_stages.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/json_access.h"
#include "text/pattern_translation.h"
#include "text/quote.h"

namespace stoker::text {
namespace {

using nlohmann::json;

constexpr std::size_t kMostStages = 32;

// How GPT-2 cuts text, built into ByteLevel.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

absl::StatusOr<SplitStage> PatternStage(std::string_view pattern, SplitBehavior behavior) {
  STOKER_ASSIGN_OR_RETURN(const std::string translated, TranslatePattern(pattern));
  STOKER_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(translated));
  return SplitStage{.pattern = std::make_shared<const Regex>(std::move(regex)),
                    .behavior = behavior};
}

std::optional<SplitBehavior> BehaviorByName(std::string_view name) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return std::nullopt;
}

absl::StatusOr<SplitStage> ParseSplit(const json& step) {
  const std::string_view behavior_name = StringMember(step, "behavior").value_or("");
  const auto behavior = BehaviorByName(behavior_name);
  if (!behavior.has_value()) {
    return InvalidArgument("Split behavior {} is not supported", Quote(behavior_name));
  }
  const json* pattern = Member(step, "pattern");
  if (pattern == nullptr) return InvalidArgument("a Split without a pattern");
  SplitStage stage;
  if (const auto regex = StringMember(*pattern, "Regex"); regex.has_value()) {
    STOKER_ASSIGN_OR_RETURN(stage, PatternStage(*regex, *behavior));
  } else if (const auto text = StringMember(*pattern, "String"); text.has_value()) {
    STOKER_ASSIGN_OR_RETURN(Regex literal, Regex::Compile(*text, Regex::Syntax::kLiteral));
    stage = {.pattern = std::make_shared<const Regex>(std::move(literal)), .behavior = *behavior};
  } else {
    return InvalidArgument("a Split pattern that is neither Regex nor String");
  }
  stage.invert = BoolMember(step, "invert", false);
  return stage;
}

absl::Status AppendStage(const json& step, bool is_last, std::vector<SplitStage>& stages) {
  const std::string_view type = StringMember(step, "type").value_or("without a type");
  if (type == "Split") {
    STOKER_ASSIGN_OR_RETURN(SplitStage stage, ParseSplit(step));
    stages.push_back(std::move(stage));
    return absl::OkStatus();
  }
  if (type == "Digits") {
    const bool individual = BoolMember(step, "individual_digits", false);
    STOKER_ASSIGN_OR_RETURN(
        SplitStage stage,
        PatternStage("\\p{N}", individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
    stages.push_back(std::move(stage));
    return absl::OkStatus();
  }
  if (type != "ByteLevel") return InvalidArgument("{} is not supported", Quote(type));
  // After it the text is in the byte alphabet, where other steps would see other characters.
  if (!is_last) return InvalidArgument("steps after ByteLevel are not supported");
  if (BoolMember(step, "add_prefix_space", true)) {
    stages.push_back({.kind = SplitStage::Kind::kPrefixSpace, .pattern = nullptr});
  }
  if (BoolMember(step, "use_regex", true)) {
    STOKER_ASSIGN_OR_RETURN(SplitStage stage,
                            PatternStage(kByteLevelPattern, SplitBehavior::kIsolated));
    stages.push_back(std::move(stage));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SplitStage>> ParseSplitStages(const json* pre_tokenizer) {
  if (pre_tokenizer == nullptr) {
    return InvalidArgument("pre_tokenizer null is not supported: the model is not byte-level");
  }
  json steps = json::array({*pre_tokenizer});
  if (StringMember(*pre_tokenizer, "type") == "Sequence") {
    const json* sequence = Member(*pre_tokenizer, "pretokenizers");
    if (sequence == nullptr || !sequence->is_array() || sequence->empty()) {
      return InvalidArgument("pre_tokenizer: a Sequence without steps");
    }
    steps = *sequence;
  }
  if (steps.size() > kMostStages) {
    return InvalidArgument("pre_tokenizer: more than {} steps", kMostStages);
  }
  if (StringMember(steps.back(), "type") != "ByteLevel") {
    return InvalidArgument(
        "pre_tokenizer: the last step is not ByteLevel; only byte-level "
        "tokenizers are supported");
  }
  std::vector<SplitStage> stages;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const absl::Status status = AppendStage(steps[i], i + 1 == steps.size(), stages);
    if (!status.ok()) return At("pre_tokenizer", status);
  }
  return stages;
}

}  // namespace stoker::text
