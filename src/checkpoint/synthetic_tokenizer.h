#pragma once

#include <cstddef>
#include <string>

#include "base/ids.h"

namespace stoker::checkpoint {

/// A tokenizer in Kimi's format whose only text tokens are the 256 single bytes: ids 0 to 255.
/// Kimi's 256 special ids follow, in Kimi's order.
inline constexpr std::size_t kByteTokenizerVocab = 512;
inline constexpr TokenId kByteTokenizerBegin{256};  ///< [BOS]
inline constexpr TokenId kByteTokenizerEnd{258};    ///< <|im_end|>

/// The text of its tiktoken.model: a line a token, base64 and rank.
std::string ByteTokenizerRanks();

/// The text of its tokenizer_config.json, which names the special tokens.
std::string ByteTokenizerConfig();

}  // namespace stoker::checkpoint
