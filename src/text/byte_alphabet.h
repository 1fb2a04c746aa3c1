#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stoker::text {

/// The bytes that a token of a byte-level tokenizer.json spells: GPT-2's alphabet gives every byte
/// a printable character (its own where Latin-1 has one, else one from U+0100 on), and tokens are
/// written in these. None where `token` has a character outside the alphabet.
std::optional<std::string> FromByteAlphabet(std::string_view token);

}  // namespace stoker::text
