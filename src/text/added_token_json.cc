#include "text/added_token_json.h"

#include <charconv>
#include <string>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/json_access.h"
#include "text/quote.h"
#include "text/vocabulary.h"

namespace stoker::text {

absl::StatusOr<AddedToken> ParseAddedToken(const nlohmann::json& json, TokenId id) {
  const auto content = StringMember(json, "content");
  if (!content.has_value() || content->empty()) {
    return InvalidArgument("the added token of id {} has no text", Index(id));
  }
  if (BoolMember(json, "single_word", false)) {
    return InvalidArgument("added token {}: single_word is not supported", Quote(*content));
  }
  return AddedToken{.id = id,
                    .content = std::string(*content),
                    .special = BoolMember(json, "special", false),
                    .strip_left = BoolMember(json, "lstrip", false),
                    .strip_right = BoolMember(json, "rstrip", false)};
}

absl::StatusOr<std::vector<AddedToken>> ParseAddedTokensDecoder(
    const nlohmann::json& tokenizer_config) {
  std::vector<AddedToken> tokens;
  const auto* decoder = Member(tokenizer_config, "added_tokens_decoder");
  if (decoder == nullptr) return tokens;
  if (!decoder->is_object()) return InvalidArgument("added_tokens_decoder is not an object");
  for (const auto& [key, value] : decoder->items()) {
    std::uint32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id >= kMaxVocabularySize) {
      return InvalidArgument("added_tokens_decoder: {} is not an id below {}", Quote(key),
                             kMaxVocabularySize);
    }
    auto token = ParseAddedToken(value, static_cast<TokenId>(id));
    if (!token.ok()) return At("added_tokens_decoder", token.status());
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

std::optional<std::string_view> TokenName(const nlohmann::json& tokenizer_config,
                                          std::string_view key) {
  if (const auto name = StringMember(tokenizer_config, key); name.has_value()) return name;
  const nlohmann::json* object = Member(tokenizer_config, key);
  return object == nullptr ? std::nullopt : StringMember(*object, "content");
}

}  // namespace stoker::text
