#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "base/status.h"
#include "text/detokenizer.h"
#include "text/stop.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

std::string TiktokenModel() {
  std::string model;
  auto add = [&, rank = 0](const std::string& token) mutable {
    model += absl::Base64Escape(token) + " " + std::to_string(rank++) + "\n";
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const char* token : {"ab", "abab", "\n\n", " a", "\xF0\x9F", "\x94\xA5", "\xE6\xBC", "  "}) {
    add(token);
  }
  return model;
}

// Whatever loads encodes any text to tokens of its own vocabulary.
void CheckFiles(const TokenizerFiles& files) {
  const auto tokenizer = Tokenizer::FromFiles(files);
  if (!tokenizer.ok()) {
    STOKER_CHECK(!Message(tokenizer.status()).empty());
    STOKER_CHECK(Message(tokenizer.status()).find('\n') == std::string_view::npos);
    return;
  }
  for (const EncodeOptions options : {EncodeOptions{}, EncodeOptions{.parse_special = true}}) {
    const auto tokens =
        (*tokenizer)->Encode("It's <|im_end|> 12345  \n\n x 漢字カナ 🔥 ab abc\t<s>", options);
    if (!tokens.ok()) continue;
    for (const TokenId token : *tokens) STOKER_CHECK(Index(token) < (*tokenizer)->vocab_size());
    STOKER_CHECK(!FindInvalidUtf8((*tokenizer)->Decode(*tokens, true)).has_value());
  }
}

// Text comes back as it was, and special tokens only where they are trusted.
void CheckText(const Tokenizer& tokenizer, std::string_view text) {
  const auto tokens = tokenizer.Encode(text);
  STOKER_CHECK(tokens.ok() == !FindInvalidUtf8(text).has_value());
  if (!tokens.ok()) return;
  STOKER_CHECK(tokenizer.Decode(*tokens, false) == text);
  for (const TokenId token : *tokens) STOKER_CHECK(!tokenizer.IsSpecial(token));
  const auto trusted = tokenizer.Encode(text, {.parse_special = true});
  STOKER_CHECK(trusted.ok() && tokenizer.Decode(*trusted, true) == text);
}

// Any tokens stream as whole characters that add up to the decoded text; a stop string cuts that
// text at the same place however it arrives.
void CheckStream(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    tokens.push_back(static_cast<TokenId>((static_cast<unsigned char>(bytes[i]) << 8) |
                                          static_cast<unsigned char>(bytes[i + 1])));
  }
  auto whole = StopMatcher::Create({"abab", "ba\n", "b"});
  auto chunked = StopMatcher::Create({"abab", "ba\n", "b"});
  STOKER_CHECK(whole.ok() && chunked.ok());
  Detokenizer detokenizer(tokenizer, /*show_special=*/true);
  std::string streamed;
  std::string until_stop;
  const auto take = [&](const std::string& text) {
    STOKER_CHECK(!FindInvalidUtf8(text).has_value());
    streamed += text;
    until_stop += chunked->Push(text).text;
  };
  for (const TokenId token : tokens) take(detokenizer.Push(token));
  take(detokenizer.Flush());
  STOKER_CHECK(streamed == tokenizer.Decode(tokens, true));
  const std::string at_once = whole->Push(streamed).text;
  STOKER_CHECK(until_stop + chunked->Flush() == at_once + whole->Flush());
}

}  // namespace
}  // namespace stoker::text

// The first byte says what the rest is: a tiktoken.model, a tokenizer.json, a
// tokenizer_config.json, or text and tokens for a small tokenizer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using stoker::text::Tokenizer;
  if (size == 0) return 0;
  static const std::string model = stoker::text::TiktokenModel();
  static const std::unique_ptr<const Tokenizer> tokenizer =
      *Tokenizer::FromFiles({.tiktoken_model = model});
  const std::string rest(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case 't':
      stoker::text::CheckFiles({.tiktoken_model = rest});
      break;
    case 'j':
      stoker::text::CheckFiles({.tokenizer_json = rest});
      break;
    case 'c':
      stoker::text::CheckFiles(
          {.tiktoken_model = model, .tokenizer_config = rest, .generation_config = rest});
      break;
    default:
      stoker::text::CheckText(*tokenizer, rest);
      stoker::text::CheckStream(*tokenizer, rest);
      break;
  }
  return 0;
}
