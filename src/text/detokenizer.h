#pragma once

#include <string>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace stoker::text {

/// Turns the tokens of one answer into text as they come. Whatever the tokens, the strings that
/// Push and Flush return, joined, are Tokenizer::Decode of all of them, and each string is whole
/// UTF-8. One thread at a time; the tokenizer must outlive it.
class Detokenizer {
 public:
  /// `show_special`: as in Tokenizer::Decode.
  explicit Detokenizer(const Tokenizer& tokenizer, bool show_special = false)
      : tokenizer_(&tokenizer), show_special_(show_special) {}

  /// The text that this token completes: often none, when a character's other bytes are to come.
  std::string Push(TokenId token);

  /// What is left at the end: U+FFFD for a character whose last bytes never came. The detokenizer
  /// can then begin another answer.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  bool show_special_;
  std::string pending_;  // the first bytes of a character, at most three
};

}  // namespace stoker::text
