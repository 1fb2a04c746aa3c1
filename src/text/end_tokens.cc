#include "text/end_tokens.h"

#include <algorithm>
#include <string_view>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/added_token_json.h"
#include "text/json_access.h"
#include "text/quote.h"

namespace stoker::text {
namespace {

using nlohmann::json;

// What a turn of a chat or a text may end with, whatever the configuration says.
constexpr std::string_view kEndNames[] = {"[EOS]", "<|im_end|>", "[EOT]"};

const AddedToken* FindByName(const std::vector<AddedToken>& added, std::string_view name) {
  const auto it = std::find_if(added.begin(), added.end(),
                               [&](const AddedToken& token) { return token.content == name; });
  return it == added.end() ? nullptr : &*it;
}

// eos_token_id: a number or a list of them.
absl::Status AppendIds(const json& file, std::size_t vocab_size, std::vector<TokenId>& ends) {
  const json* value = Member(file, "eos_token_id");
  if (value == nullptr) return absl::OkStatus();
  const json list = value->is_array() ? *value : json::array({*value});
  for (const json& item : list) {
    const auto id = IntegerBelow(item, vocab_size);
    if (!id.has_value()) {
      return InvalidArgument("eos_token_id {} is not a token of the vocabulary of {}",
                             Quote(item.dump()), vocab_size);
    }
    ends.push_back(static_cast<TokenId>(*id));
  }
  return absl::OkStatus();
}

absl::Status AppendNamed(const json& tokenizer_config, const std::vector<AddedToken>& added,
                         std::vector<TokenId>& ends) {
  const auto name = TokenName(tokenizer_config, "eos_token");
  if (!name.has_value()) return absl::OkStatus();
  const AddedToken* token = FindByName(added, *name);
  if (token == nullptr) {
    return InvalidArgument("eos_token {} is not among the added tokens", Quote(*name));
  }
  ends.push_back(token->id);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TokenId>> FindEndTokens(const ConfigFiles& files,
                                                   const std::vector<AddedToken>& added,
                                                   std::size_t vocab_size) {
  std::vector<TokenId> ends;
  struct Source {
    const char* name;
    const json* file;
  };
  const json* text_config = Member(files.config, "text_config");
  for (const Source& source :
       {Source{"generation_config.json", &files.generation_config},
        Source{"config.json", &files.config}, Source{"config.json: text_config", text_config}}) {
    if (source.file == nullptr) continue;
    const absl::Status status = AppendIds(*source.file, vocab_size, ends);
    if (!status.ok()) return At(source.name, status);
  }
  const absl::Status status = AppendNamed(files.tokenizer_config, added, ends);
  if (!status.ok()) return At("tokenizer_config.json", status);
  for (const std::string_view name : kEndNames) {
    if (const AddedToken* token = FindByName(added, name); token != nullptr) {
      ends.push_back(token->id);
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

}  // namespace stoker::text
