#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "nlohmann/json_fwd.hpp"
#include "text/added_tokens.h"

namespace stoker::text {

/// The parsed configuration files of a model folder; a file that is not there is a JSON null.
struct ConfigFiles {
  const nlohmann::json& tokenizer_config;
  const nlohmann::json& generation_config;
  const nlohmann::json& config;
};

/// See Tokenizer::end_tokens. Errors: kInvalidArgument for an eos id that is not in [0, vocab_size)
/// or an eos token that is not an added one.
absl::StatusOr<std::vector<TokenId>> FindEndTokens(const ConfigFiles& files,
                                                   const std::vector<AddedToken>& added,
                                                   std::size_t vocab_size);

}  // namespace stoker::text
