#include "text/tokenizer_json.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "text/added_token_json.h"
#include "text/byte_alphabet.h"
#include "text/json_access.h"
#include "text/quote.h"
#include "text/split_stages.h"

namespace stoker::text {
namespace {

using nlohmann::json;

absl::StatusOr<bool> WantsNfc(const json* normalizer) {
  if (normalizer == nullptr) return false;
  const std::string type(StringMember(*normalizer, "type").value_or("without a type"));
  if (type == "NFC") return true;
  const json* steps = Member(*normalizer, "normalizers");
  if (type != "Sequence" || steps == nullptr || !steps->is_array()) {
    return InvalidArgument("normalizer {} is not supported (only NFC is)", Quote(type));
  }
  bool nfc = false;
  for (const json& step : *steps) {
    const std::string step_type(StringMember(step, "type").value_or("without a type"));
    if (step_type != "NFC") {
      return InvalidArgument("normalizer {} is not supported (only NFC is)", Quote(step_type));
    }
    nfc = true;
  }
  return nfc;
}

absl::Status CheckDecoder(const json* decoder) {
  const std::string type(
      decoder == nullptr ? "null" : StringMember(*decoder, "type").value_or("without a type"));
  if (type == "ByteLevel") return absl::OkStatus();
  return InvalidArgument("decoder {} is not supported (only ByteLevel is)", Quote(type));
}

absl::StatusOr<std::vector<AddedToken>> ParseAddedTokens(const json* list) {
  std::vector<AddedToken> tokens;
  if (list == nullptr) return tokens;
  if (!list->is_array()) return InvalidArgument("added_tokens is not a list");
  for (const json& item : *list) {
    const json* id = Member(item, "id");
    const auto number = id == nullptr ? std::nullopt : IntegerBelow(*id, kMaxVocabularySize);
    if (!number.has_value()) {
      return InvalidArgument("added_tokens: an entry without an id below {}", kMaxVocabularySize);
    }
    STOKER_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(item, static_cast<TokenId>(*number)));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

absl::Status CheckModel(const json& model) {
  const std::string_view type = StringMember(model, "type").value_or("BPE");
  if (type != "BPE") return InvalidArgument("model type {} is not supported", Quote(type));
  if (Member(model, "dropout") != nullptr) return InvalidArgument("dropout is not supported");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!StringMember(model, affix).value_or("").empty()) {
      return InvalidArgument("{} is not supported", affix);
    }
  }
  return absl::OkStatus();
}

using IdsByName = absl::flat_hash_map<std::string, TokenId>;

absl::StatusOr<IdsByName> ParseVocabulary(const json& model) {
  const json* vocab = Member(model, "vocab");
  if (vocab == nullptr || !vocab->is_object()) return InvalidArgument("vocab is not an object");
  IdsByName ids;
  ids.reserve(vocab->size());
  for (const auto& [name, value] : vocab->items()) {
    const auto id = IntegerBelow(value, kMaxVocabularySize);
    if (!id.has_value()) {
      return InvalidArgument("vocab: token {} has no id below {}", Quote(name), kMaxVocabularySize);
    }
    ids.emplace(name, static_cast<TokenId>(*id));
  }
  return ids;
}

// A merge's two sides, from "a b" or ["a", "b"].
std::optional<std::pair<std::string_view, std::string_view>> MergeSides(const json& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos) return std::nullopt;
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
    return std::nullopt;
  }
  return std::pair<std::string_view, std::string_view>(merge[0].get_ref<const std::string&>(),
                                                       merge[1].get_ref<const std::string&>());
}

absl::StatusOr<std::vector<MergeRule>> ParseMerges(const json& model, const IdsByName& ids) {
  const json* list = Member(model, "merges");
  if (list == nullptr || !list->is_array()) return InvalidArgument("merges is not a list");
  std::vector<MergeRule> merges;
  merges.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto sides = MergeSides((*list)[i]);
    if (!sides.has_value()) return InvalidArgument("merge {} is not a pair of tokens", i);
    const std::string merged = std::string(sides->first) + std::string(sides->second);
    MergeRule rule{};
    for (const auto& [name, id] : {std::pair<std::string_view, TokenId*>{sides->first, &rule.left},
                                   {sides->second, &rule.right},
                                   {merged, &rule.merged}}) {
      // Abseil's hash does not know std::string_view here.
      const auto it = ids.find(absl::string_view(name.data(), name.size()));
      if (it == ids.end()) {
        return InvalidArgument("merge {}: token {} is not in the vocabulary", i, Quote(name));
      }
      *id = it->second;
    }
    merges.push_back(rule);
  }
  return merges;
}

// The entries of vocab and added_tokens together. Ordinary text reaches a token of the vocabulary
// unless it is an added one that no merge makes.
absl::StatusOr<std::vector<VocabularyEntry>> JoinEntries(const IdsByName& ids,
                                                         const std::vector<AddedToken>& added,
                                                         const std::vector<MergeRule>& merges) {
  absl::flat_hash_set<TokenId> made;
  for (const MergeRule& merge : merges) made.insert(merge.merged);
  absl::flat_hash_map<TokenId, const AddedToken*> in_vocabulary;
  std::vector<VocabularyEntry> entries;
  entries.reserve(ids.size() + added.size());
  for (const AddedToken& token : added) {
    const auto it = ids.find(token.content);
    if (it == ids.end()) {
      entries.push_back({.id = token.id, .bytes = token.content, .ordinary = false});
      continue;
    }
    if (it->second != token.id) {
      return InvalidArgument("added token {} has id {}, but {} in vocab", Quote(token.content),
                             Index(token.id), Index(it->second));
    }
    if (token.special && made.contains(token.id)) {
      return InvalidArgument("special token {} is what a merge makes: any text could forge it",
                             Quote(token.content));
    }
    in_vocabulary.emplace(token.id, &token);
  }
  for (const auto& [name, id] : ids) {
    const auto it = in_vocabulary.find(id);
    const bool is_control =
        it != in_vocabulary.end() && it->second->content == name && !made.contains(id);
    std::optional<std::string> bytes = is_control ? std::nullopt : FromByteAlphabet(name);
    const bool ordinary = bytes.has_value();
    entries.push_back({.id = id, .bytes = bytes.value_or(name), .ordinary = ordinary});
  }
  return entries;
}

// The tokens that a TemplateProcessing puts before a single text.
absl::StatusOr<std::vector<TokenId>> TemplatePrefix(const json& processor) {
  const json* single = Member(processor, "single");
  if (single == nullptr || !single->is_array()) {
    return InvalidArgument("post_processor: single is not a list");
  }
  std::vector<TokenId> prefix;
  bool text_seen = false;
  for (const json& item : *single) {
    if (Member(item, "Sequence") != nullptr) {
      text_seen = true;
      continue;
    }
    const json* special = Member(item, "SpecialToken");
    const auto name = special == nullptr ? std::nullopt : StringMember(*special, "id");
    if (!name.has_value()) return InvalidArgument("post_processor: an item of an unknown kind");
    if (text_seen) {
      return InvalidArgument("post_processor: {} after the text is not supported", Quote(*name));
    }
    const json* known = Member(processor, "special_tokens");
    const json* entry = known == nullptr ? nullptr : Member(*known, *name);
    const json* ids = entry == nullptr ? nullptr : Member(*entry, "ids");
    if (ids == nullptr || !ids->is_array()) {
      return InvalidArgument("post_processor: {} has no ids", Quote(*name));
    }
    for (const json& id : *ids) {
      const auto number = IntegerBelow(id, kMaxVocabularySize);
      if (!number.has_value()) {
        return InvalidArgument("post_processor: {} has no id below {}", Quote(*name),
                               kMaxVocabularySize);
      }
      prefix.push_back(static_cast<TokenId>(*number));
    }
  }
  return prefix;
}

absl::StatusOr<std::vector<TokenId>> ParsePostProcessor(const json* processor) {
  std::vector<TokenId> prefix;
  if (processor == nullptr) return prefix;
  const std::string type(StringMember(*processor, "type").value_or("without a type"));
  if (type == "ByteLevel") return prefix;  // it only moves offsets
  if (type == "TemplateProcessing") return TemplatePrefix(*processor);
  const json* steps = Member(*processor, "processors");
  if (type != "Sequence" || steps == nullptr || !steps->is_array()) {
    return InvalidArgument("post_processor {} is not supported", Quote(type));
  }
  for (const json& step : *steps) {
    STOKER_ASSIGN_OR_RETURN(const std::vector<TokenId> more, ParsePostProcessor(&step));
    prefix.insert(prefix.end(), more.begin(), more.end());
  }
  return prefix;
}

}  // namespace

absl::StatusOr<TokenizerSpec> ParseTokenizerJson(const json& json) {
  const auto* model = Member(json, "model");
  if (model == nullptr) return InvalidArgument("no model");
  STOKER_RETURN_IF_ERROR(CheckModel(*model));
  STOKER_RETURN_IF_ERROR(CheckDecoder(Member(json, "decoder")));
  TokenizerSpec spec;
  STOKER_ASSIGN_OR_RETURN(spec.normalize_nfc, WantsNfc(Member(json, "normalizer")));
  STOKER_ASSIGN_OR_RETURN(spec.stages, ParseSplitStages(Member(json, "pre_tokenizer")));
  STOKER_ASSIGN_OR_RETURN(spec.prefix, ParsePostProcessor(Member(json, "post_processor")));
  STOKER_ASSIGN_OR_RETURN(spec.added, ParseAddedTokens(Member(json, "added_tokens")));
  STOKER_ASSIGN_OR_RETURN(const IdsByName ids, ParseVocabulary(*model));
  STOKER_ASSIGN_OR_RETURN(spec.merges, ParseMerges(*model, ids));
  STOKER_ASSIGN_OR_RETURN(spec.entries, JoinEntries(ids, spec.added, spec.merges));
  spec.ignore_merges = BoolMember(*model, "ignore_merges", false);
  return spec;
}

}  // namespace stoker::text
