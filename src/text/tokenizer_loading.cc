#include "text/tokenizer_loading.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "text/added_token_json.h"
#include "text/end_tokens.h"
#include "text/json_access.h"
#include "text/kimi.h"
#include "text/quote.h"
#include "text/tiktoken_file.h"
#include "text/tokenizer_json.h"

namespace stoker::text {
namespace {

using nlohmann::json;

constexpr const char* kTiktokenFile = "tiktoken.model";
constexpr const char* kTokenizerJsonFile = "tokenizer.json";
constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// Several times what the largest published ones have.
constexpr std::uint64_t kMaxTiktokenBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMaxTokenizerJsonBytes = std::uint64_t{128} << 20U;

std::size_t SizeOf(const std::vector<VocabularyEntry>& entries) {
  std::size_t size = 0;
  for (const VocabularyEntry& entry : entries) size = std::max(size, Index(entry.id) + 1);
  return size;
}

// The model's own vocabulary size, padding included; 0 where config.json does not say.
std::size_t ModelVocabularySize(const json& config) {
  const json* text_config = Member(config, "text_config");
  const json* value = Member(text_config == nullptr ? config : *text_config, "vocab_size");
  if (value == nullptr) return 0;
  return IntegerBelow(*value, kMaxVocabularySize).value_or(0);
}

absl::StatusOr<std::vector<AddedToken>> KimiSpecialTokens(const json& tokenizer_config,
                                                          std::size_t ranks,
                                                          std::size_t model_vocabulary_size) {
  STOKER_ASSIGN_OR_RETURN(std::vector<AddedToken> tokens,
                          ParseAddedTokensDecoder(tokenizer_config));
  std::size_t end = ranks + kKimiSpecialTokens;
  if (model_vocabulary_size > ranks) end = std::min(end, model_vocabulary_size);
  std::vector<bool> named(end, false);
  for (const AddedToken& token : tokens) {
    if (Index(token.id) < ranks || Index(token.id) >= end) {
      return InvalidArgument("added token {} has id {}, outside [{}, {}) behind the ranks",
                             Quote(token.content), Index(token.id), ranks, end);
    }
    named[Index(token.id)] = true;
  }
  for (std::size_t id = ranks; id < end; ++id) {
    if (named[id]) continue;
    tokens.push_back({.id = static_cast<TokenId>(id),
                      .content = "<|reserved_token_" + std::to_string(id) + "|>"});
  }
  return tokens;
}

absl::StatusOr<TokenizerSpec> KimiSpec(std::string_view tiktoken_model,
                                       const json& tokenizer_config,
                                       std::size_t model_vocabulary_size) {
  TokenizerSpec spec;
  auto entries = ParseTiktokenFile(tiktoken_model);
  if (!entries.ok()) return At(kTiktokenFile, entries.status());
  spec.entries = *std::move(entries);
  auto added = KimiSpecialTokens(tokenizer_config, spec.entries.size(), model_vocabulary_size);
  if (!added.ok()) return At(kTokenizerConfigFile, added.status());
  spec.added = *std::move(added);
  for (const AddedToken& token : spec.added) {
    spec.entries.push_back({.id = token.id, .bytes = token.content, .ordinary = false});
  }
  STOKER_ASSIGN_OR_RETURN(Regex pattern, Regex::Compile(KimiPattern()));
  spec.stages = {{.pattern = std::make_shared<const Regex>(std::move(pattern))}};
  spec.ids_are_ranks = true;
  spec.is_kimi = true;
  return spec;
}

// Adds the tokens that tokenizer_config.json has beside tokenizer.json's own.
absl::Status AddTokensOfConfig(const json& tokenizer_config, TokenizerSpec& spec) {
  STOKER_ASSIGN_OR_RETURN(std::vector<AddedToken> more, ParseAddedTokensDecoder(tokenizer_config));
  for (AddedToken& token : more) {
    const bool known =
        std::any_of(spec.added.begin(), spec.added.end(), [&](const AddedToken& other) {
          return other.content == token.content && other.id == token.id;
        });
    if (known) continue;
    spec.entries.push_back({.id = token.id, .bytes = token.content, .ordinary = false});
    spec.added.push_back(std::move(token));
  }
  return absl::OkStatus();
}

// What stands before a text: as tokenizer_config.json says, else as the post-processor does.
absl::Status SetPrefix(const json& tokenizer_config, TokenizerSpec& spec) {
  const json* add_bos = Member(tokenizer_config, "add_bos_token");
  if (add_bos == nullptr || !add_bos->is_boolean()) return absl::OkStatus();
  spec.prefix.clear();
  if (!add_bos->get<bool>()) return absl::OkStatus();
  const auto name = TokenName(tokenizer_config, "bos_token");
  if (!name.has_value()) return InvalidArgument("add_bos_token is true without a bos_token");
  const auto it = std::find_if(spec.added.begin(), spec.added.end(),
                               [&](const AddedToken& token) { return token.content == *name; });
  if (it == spec.added.end()) {
    return InvalidArgument("bos_token {} is not among the added tokens", Quote(*name));
  }
  spec.prefix.push_back(it->id);
  return absl::OkStatus();
}

absl::StatusOr<TokenizerSpec> HuggingFaceSpec(const std::string& tokenizer_json,
                                              const json& tokenizer_config) {
  STOKER_ASSIGN_OR_RETURN(const json parsed, ParseObject(kTokenizerJsonFile, tokenizer_json));
  auto spec = ParseTokenizerJson(parsed);
  if (!spec.ok()) return At(kTokenizerJsonFile, spec.status());
  absl::Status status = AddTokensOfConfig(tokenizer_config, *spec);
  if (status.ok()) status = SetPrefix(tokenizer_config, *spec);
  if (!status.ok()) return At(kTokenizerConfigFile, status);
  return spec;
}

}  // namespace

absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::filesystem::path& folder) {
  TokenizerFiles files;
  STOKER_ASSIGN_OR_RETURN(files.tiktoken_model,
                          ReadIfThere(folder / kTiktokenFile, kMaxTiktokenBytes));
  STOKER_ASSIGN_OR_RETURN(files.tokenizer_json,
                          ReadIfThere(folder / kTokenizerJsonFile, kMaxTokenizerJsonBytes));
  STOKER_ASSIGN_OR_RETURN(files.tokenizer_config, ReadIfThere(folder / kTokenizerConfigFile));
  STOKER_ASSIGN_OR_RETURN(files.generation_config, ReadIfThere(folder / "generation_config.json"));
  STOKER_ASSIGN_OR_RETURN(files.config, ReadIfThere(folder / "config.json"));
  if (files.tiktoken_model.has_value() && !files.tokenizer_config.has_value()) {
    return InvalidArgument(
        "{}: {} without {}, which names its special tokens: copy it from where the "
        "model came from",
        folder.string(), kTiktokenFile, kTokenizerConfigFile);
  }
  return files;
}

absl::StatusOr<LoadedTokenizer> LoadTokenizerSpec(const TokenizerFiles& files) {
  STOKER_ASSIGN_OR_RETURN(const json tokenizer_config,
                          ParseObject(kTokenizerConfigFile, files.tokenizer_config));
  STOKER_ASSIGN_OR_RETURN(const json generation_config,
                          ParseObject("generation_config.json", files.generation_config));
  STOKER_ASSIGN_OR_RETURN(const json config, ParseObject("config.json", files.config));
  const std::size_t model_vocabulary_size = ModelVocabularySize(config);
  LoadedTokenizer loaded;
  if (files.tiktoken_model.has_value()) {
    loaded.file_name = kTiktokenFile;
    STOKER_ASSIGN_OR_RETURN(
        loaded.spec, KimiSpec(*files.tiktoken_model, tokenizer_config, model_vocabulary_size));
  } else if (files.tokenizer_json.has_value()) {
    loaded.file_name = kTokenizerJsonFile;
    STOKER_ASSIGN_OR_RETURN(loaded.spec, HuggingFaceSpec(*files.tokenizer_json, tokenizer_config));
  } else {
    return NotFound("no tokenizer: neither tiktoken.model nor tokenizer.json is there");
  }
  const std::size_t vocab_size = std::max(SizeOf(loaded.spec.entries), model_vocabulary_size);
  STOKER_ASSIGN_OR_RETURN(
      loaded.end_tokens,
      FindEndTokens({tokenizer_config, generation_config, config}, loaded.spec.added, vocab_size));
  return loaded;
}

}  // namespace stoker::text
