#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::text {

/// What tiktoken.model does not say about Kimi's tokenizer and its reference code
/// (tokenization_kimi.py in the model's own folder) does.

/// The pattern that cuts text into pieces, in PCRE2's syntax. Its character classes follow the
/// Unicode version of the PCRE2 in use (14 in 10.42), with later ideographs and numerals added;
/// other later characters count as symbols.
std::string KimiPattern();

/// So many ids after the last rank are special tokens; those without a name of their own are
/// called <|reserved_token_ID|>.
inline constexpr std::size_t kKimiSpecialTokens = 256;

/// Where the reference cuts `text` (valid UTF-8) before the pattern sees it: every 400,000
/// characters, and within these after 25,000 characters in a row that are all white space or all
/// not. Byte offsets, ascending, without 0 and the end.
std::vector<std::size_t> KimiCuts(std::string_view text);

}  // namespace stoker::text
