#pragma once

#include <memory>

#include "checkpoint/synthetic_tokenizer.h"
#include "text/tokenizer.h"

namespace stoker::testing {

/// The tokenizer of synthetic checkpoints: one token a byte, and Kimi's special tokens. For tests
/// of modules above both `text` and `checkpoint`.
inline const text::Tokenizer& ByteTokenizer() {
  static const auto& tokenizer = *new std::unique_ptr<const text::Tokenizer>(
      text::Tokenizer::FromFiles({.tiktoken_model = checkpoint::ByteTokenizerRanks(),
                                  .tokenizer_json = {},
                                  .tokenizer_config = checkpoint::ByteTokenizerConfig(),
                                  .generation_config = {},
                                  .config = {}})
          .value());
  return *tokenizer;
}

}  // namespace stoker::testing
