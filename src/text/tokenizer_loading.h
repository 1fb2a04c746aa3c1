#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/tokenizer.h"
#include "text/tokenizer_spec.h"

namespace stoker::text {

/// What a model folder's files say together.
struct LoadedTokenizer {
  TokenizerSpec spec;
  std::vector<TokenId> end_tokens;  ///< see Tokenizer::end_tokens
  std::string file_name;            ///< of the file that the vocabulary came from
};

/// Errors: as Tokenizer::Load.
absl::StatusOr<LoadedTokenizer> LoadTokenizerSpec(const TokenizerFiles& files);

}  // namespace stoker::text
