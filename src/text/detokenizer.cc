#include "text/detokenizer.h"

#include <cstddef>
#include <string_view>

#include "text/utf8.h"

namespace stoker::text {

std::string Detokenizer::Push(TokenId token) {
  if (!show_special_ && tokenizer_->IsSpecial(token)) return {};
  pending_ += tokenizer_->TokenBytes(token);
  std::string text;
  const std::size_t truncated_bytes = AppendLossyUtf8(pending_, text);
  pending_.erase(0, pending_.size() - truncated_bytes);
  return text;
}

std::string Detokenizer::Flush() {
  const bool is_truncated = !pending_.empty();
  pending_.clear();
  return is_truncated ? std::string(kReplacementCharacter) : std::string();
}

}  // namespace stoker::text
