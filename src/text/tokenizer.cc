#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/kimi.h"
#include "text/nfc.h"
#include "text/quote.h"
#include "text/tokenizer_loading.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

constexpr std::size_t kLongestTextBytes = std::size_t{1} << 30U;

// Encodes runs of ordinary text that stand between special tokens.
class RunEncoder {
 public:
  RunEncoder(const Bpe& bpe, const PreTokenizer& pre_tokenizer, bool normalize_nfc,
             std::vector<TokenId>& tokens)
      : bpe_(bpe), session_(pre_tokenizer), normalize_nfc_(normalize_nfc), tokens_(tokens) {}

  absl::Status Encode(std::string_view run) {
    if (run.empty()) return absl::OkStatus();
    std::string normalized;
    if (normalize_nfc_ && !IsSurelyNfc(run)) {
      STOKER_ASSIGN_OR_RETURN(normalized, ToNfc(run));
      run = normalized;
    }
    return session_.Split(run, [&](std::string_view piece) { bpe_.Encode(piece, tokens_); });
  }

 private:
  const Bpe& bpe_;
  PreTokenizer::Session session_;
  bool normalize_nfc_;
  std::vector<TokenId>& tokens_;
};

// Refuses a <|name|> that is no token: the model would read a template without its markers as a
// text to go on with, and the answer would make no sense.
absl::Status CheckMarkers(std::string_view text, const AddedTokens& added) {
  constexpr std::string_view kNameCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t at = text.find("<|"); at != text.npos; at = text.find("<|", at + 1)) {
    const std::size_t end = text.find_first_not_of(kNameCharacters, at + 2);
    if (end == text.npos || end == at + 2 || !text.substr(end).starts_with("|>")) continue;
    const std::string_view marker = text.substr(at, end + 2 - at);
    if (added.Find(marker) != nullptr) continue;
    return InvalidArgument(
        "the chat template writes {}, which is no token of the tokenizer: take the template and "
        "tokenizer_config.json from where the model came from",
        Quote(marker));
  }
  return absl::OkStatus();
}

}  // namespace

Tokenizer::Tokenizer(const TokenizerSpec& spec, Bpe bpe, AddedTokens added,
                     std::vector<TokenId> end_tokens)
    : bpe_(std::move(bpe)),
      added_(std::move(added)),
      pre_tokenizer_(spec.stages),
      normalize_nfc_(spec.normalize_nfc),
      is_kimi_(spec.is_kimi),
      prefix_(spec.prefix),
      end_tokens_(std::move(end_tokens)) {}

absl::StatusOr<std::unique_ptr<const Tokenizer>> Tokenizer::Load(
    const std::filesystem::path& folder) {
  STOKER_ASSIGN_OR_RETURN(const TokenizerFiles files, ReadTokenizerFiles(folder));
  auto tokenizer = FromFiles(files);
  if (!tokenizer.ok()) return At(folder.string(), tokenizer.status());
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<const Tokenizer>> Tokenizer::FromFiles(const TokenizerFiles& files) {
  STOKER_ASSIGN_OR_RETURN(LoadedTokenizer loaded, LoadTokenizerSpec(files));
  TokenizerSpec& spec = loaded.spec;
  STOKER_ASSIGN_OR_RETURN(AddedTokens added, AddedTokens::Create(std::move(spec.added)));
  auto vocabulary = Vocabulary::Create(spec.entries);
  if (!vocabulary.ok()) return At(loaded.file_name, vocabulary.status());
  for (const TokenId token : spec.prefix) {
    if (vocabulary->Bytes(token).empty()) {
      return InvalidArgument("{}: post_processor: {} is no token of the vocabulary",
                             loaded.file_name, Index(token));
    }
  }
  Bpe bpe = spec.ids_are_ranks
                ? Bpe::WithIdsAsRanks(*std::move(vocabulary))
                : Bpe::WithMerges(*std::move(vocabulary), spec.merges, spec.ignore_merges);
  // The constructor is private, which std::make_unique cannot reach.
  return std::unique_ptr<const Tokenizer>(
      new Tokenizer(spec, std::move(bpe), std::move(added), std::move(loaded.end_tokens)));
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                                       const EncodeOptions& options) const {
  std::vector<TokenId> tokens;
  if (options.add_bos) tokens = prefix_;
  std::vector<ByteSpan> trusted;
  if (options.parse_special && !text.empty()) trusted.push_back({0, text.size()});
  STOKER_RETURN_IF_ERROR(EncodeText(text, trusted, tokens));
  return tokens;
}

absl::StatusOr<std::vector<TokenId>> Tokenizer::Encode(const RenderedPrompt& prompt) const {
  std::string text;
  std::vector<ByteSpan> trusted;
  for (const Segment& segment : prompt.segments) {
    if ((is_kimi_ || prompt.needs_markers) && segment.trusted) {
      STOKER_RETURN_IF_ERROR(CheckMarkers(segment.text, added_));
    }
    if (segment.trusted && !segment.text.empty()) {
      const std::size_t begin = text.size();
      if (trusted.empty() || trusted.back().end != begin) trusted.push_back({begin, begin});
      trusted.back().end = begin + segment.text.size();
    }
    text += segment.text;
  }
  std::vector<TokenId> tokens;
  STOKER_RETURN_IF_ERROR(EncodeText(text, trusted, tokens));
  return tokens;
}

absl::Status Tokenizer::EncodeText(std::string_view text, const std::vector<ByteSpan>& trusted,
                                   std::vector<TokenId>& tokens) const {
  if (text.size() > kLongestTextBytes) {
    return InvalidArgument("text of {} bytes is longer than {}", text.size(), kLongestTextBytes);
  }
  if (const auto offset = FindInvalidUtf8(text); offset.has_value()) {
    return InvalidArgument("text is not valid UTF-8 at byte {} (0x{:02X})", *offset,
                           static_cast<unsigned char>(text[*offset]));
  }
  std::vector<std::size_t> cuts;
  if (is_kimi_) cuts = KimiCuts(text);
  RunEncoder encoder(bpe_, pre_tokenizer_, normalize_nfc_, tokens);
  auto cut = cuts.begin();
  const auto encode_run = [&](std::size_t begin, std::size_t end) -> absl::Status {
    cut = std::upper_bound(cut, cuts.end(), begin);
    for (; cut != cuts.end() && *cut < end; ++cut) {
      STOKER_RETURN_IF_ERROR(encoder.Encode(text.substr(begin, *cut - begin)));
      begin = *cut;
    }
    return encoder.Encode(text.substr(begin, end - begin));
  };
  std::size_t done = 0;
  for (const AddedTokenMatch& match : added_.FindAll(text, trusted)) {
    STOKER_RETURN_IF_ERROR(encode_run(done, match.span.begin));
    tokens.push_back(match.id);
    done = match.span.end;
  }
  return encode_run(done, text.size());
}

std::string Tokenizer::Decode(std::span<const TokenId> tokens, bool show_special) const {
  std::string bytes;
  for (const TokenId token : tokens) {
    if (show_special || !IsSpecial(token)) bytes += TokenBytes(token);
  }
  std::string text;
  if (AppendLossyUtf8(bytes, text) != 0) text += kReplacementCharacter;
  return text;
}

bool Tokenizer::IsSpecial(TokenId token) const {
  const AddedToken* added = added_.Find(token);
  return added != nullptr && added->special;
}

std::optional<TokenId> Tokenizer::FindSpecial(std::string_view name) const {
  const AddedToken* added = added_.Find(name);
  if (added == nullptr) return std::nullopt;
  return added->id;
}

}  // namespace stoker::text
