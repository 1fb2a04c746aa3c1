#pragma once

#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"
#include "text/vocabulary.h"

namespace stoker::text {

/// What a tokenizer's files say, whichever kind they are: the parts of a Tokenizer.
struct TokenizerSpec {
  std::vector<VocabularyEntry> entries;  ///< added tokens included
  std::vector<AddedToken> added;
  bool ids_are_ranks = false;  ///< tiktoken's rule; otherwise `merges` hold
  std::vector<MergeRule> merges;
  bool ignore_merges = false;
  std::vector<SplitStage> stages;
  bool normalize_nfc = false;
  bool is_kimi = false;  ///< text is cut as KimiCuts says, and templates write known markers only
  std::vector<TokenId> prefix;  ///< what goes before every text (the post-processor's BOS)
};

}  // namespace stoker::text
