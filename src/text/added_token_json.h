#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/added_tokens.h"

namespace stoker::text {

/// Reads an added token as tokenizer.json and tokenizer_config.json both write it.
/// Errors: kInvalidArgument for one without text, or with single_word, which is not supported.
absl::StatusOr<AddedToken> ParseAddedToken(const nlohmann::json& json, TokenId id);

/// Reads the added_tokens_decoder of a tokenizer_config.json: {"163584": {"content": …}, …}.
/// Errors: as above, and for a key that is no id.
absl::StatusOr<std::vector<AddedToken>> ParseAddedTokensDecoder(
    const nlohmann::json& tokenizer_config);

/// The name of a token in tokenizer_config.json, where it is a string or an object with `content`:
/// TokenName(config, "bos_token").
std::optional<std::string_view> TokenName(const nlohmann::json& tokenizer_config,
                                          std::string_view key);

}  // namespace stoker::text
