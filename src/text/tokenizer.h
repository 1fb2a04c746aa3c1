#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"
#include "text/segment.h"
#include "text/tokenizer_spec.h"

namespace stoker::text {

/// The contents of the files of a model folder that say how its text is encoded.
struct TokenizerFiles {
  std::optional<std::string> tiktoken_model;     ///< tiktoken.model: preferred where both are there
  std::optional<std::string> tokenizer_json;     ///< tokenizer.json
  std::optional<std::string> tokenizer_config;   ///< tokenizer_config.json
  std::optional<std::string> generation_config;  ///< generation_config.json
  std::optional<std::string> config;             ///< config.json
};

/// Reads them. Errors: as sys::ReadTextFile; a file that is not there is none.
absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::filesystem::path& folder);

struct EncodeOptions {
  /// The text comes from someone entitled to steer the model: names of special tokens in it become
  /// these tokens. Never set for what a user typed; see Segment.
  bool parse_special = false;
  /// Put the beginning-of-sequence token first where the model's tokenizer does so.
  bool add_bos = true;
};

/// Text to tokens and back, as the model's own tokenizer does it: Kimi's tiktoken.model or a
/// byte-level BPE in Hugging Face's tokenizer.json. Immutable; any thread may use it.
class Tokenizer {
 public:
  /// Reads a model folder. Errors: kNotFound where it holds no tokenizer; kInvalidArgument, naming
  /// the file and the place, for what is damaged or not supported.
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> Load(const std::filesystem::path& folder);

  /// The same from the files' contents.
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> FromFiles(const TokenizerFiles& files);

  /// The tokens of a text. Errors: kInvalidArgument with the byte offset for invalid UTF-8, or for
  /// more than 1 GiB; kResourceExhausted where the tokenizer's pattern cannot split the text.
  [[nodiscard]] absl::StatusOr<std::vector<TokenId>> Encode(
      std::string_view text, const EncodeOptions& options = {}) const;

  /// The tokens of a rendered conversation: special tokens only from trusted segments, and no
  /// beginning-of-sequence token but what the template wrote. Errors: as above, the offset
  /// counted in the joined text; and kInvalidArgument where the template writes a <|name|> that
  /// is no token, if the prompt needs its markers or the tokenizer is Kimi's. (Some other models
  /// are trained on such names as plain text.)
  [[nodiscard]] absl::StatusOr<std::vector<TokenId>> Encode(const RenderedPrompt& prompt) const;

  /// The text of tokens; U+FFFD for bytes that form no character. Ids that are not in the
  /// vocabulary stand for nothing. `show_special` also writes the names of special tokens.
  [[nodiscard]] std::string Decode(std::span<const TokenId> tokens, bool show_special) const;

  /// What a token stands for, not always whole characters; a special token's name; empty for an id
  /// that is not in the vocabulary (models pad their vocabularies).
  [[nodiscard]] std::string_view TokenBytes(TokenId token) const {
    return bpe_.vocabulary().Bytes(token);
  }

  /// One more than the largest id.
  [[nodiscard]] std::size_t vocab_size() const { return bpe_.vocabulary().size(); }

  /// True for tokens that decoding leaves out unless asked. Markers which a reader of the answer
  /// must see (tool calls, <think> in Kimi's vocabulary) are not among them.
  [[nodiscard]] bool IsSpecial(TokenId token) const;

  /// The special or added token of this name: FindSpecial("<|im_end|>").
  [[nodiscard]] std::optional<TokenId> FindSpecial(std::string_view name) const;

  /// The tokens at which an answer is over: the eos ids of generation_config.json, config.json and
  /// tokenizer_config.json (models disagree with themselves), and [EOS], <|im_end|> and [EOT] where
  /// the vocabulary has them. Ascending.
  [[nodiscard]] const std::vector<TokenId>& end_tokens() const { return end_tokens_; }

 private:
  Tokenizer(const TokenizerSpec& spec, Bpe bpe, AddedTokens added, std::vector<TokenId> end_tokens);

  absl::Status EncodeText(std::string_view text, const std::vector<ByteSpan>& trusted,
                          std::vector<TokenId>& tokens) const;

  Bpe bpe_;
  AddedTokens added_;
  PreTokenizer pre_tokenizer_;
  bool normalize_nfc_;
  bool is_kimi_;
  std::vector<TokenId> prefix_;  // the beginning-of-sequence token, or nothing
  std::vector<TokenId> end_tokens_;
};

}  // namespace stoker::text
