#include "text/added_tokens.h"

#include <algorithm>

#include "base/status.h"
#include "text/quote.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

// How many bytes of white space `text` starts with.
std::size_t LeadingSpace(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Utf8Unit unit = FirstUtf8Unit(text.substr(bytes));
    if (unit.kind != Utf8Unit::Kind::kCharacter || !IsWhiteSpace(unit.code_point)) break;
    bytes += unit.bytes;
  }
  return bytes;
}

// How many bytes of white space `text` ends with.
std::size_t TrailingSpace(std::string_view text) {
  std::size_t kept = text.size();
  while (kept > 0) {
    std::size_t start = kept - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80) --start;
    if (LeadingSpace(text.substr(start, kept - start)) == 0) break;
    kept = start;
  }
  return text.size() - kept;
}

}  // namespace

bool AddedToken::IsOrdinaryText() const {
  return !special && LeadingSpace(content) == content.size();
}

absl::StatusOr<AddedTokens> AddedTokens::Create(std::vector<AddedToken> tokens) {
  AddedTokens added;
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& content = tokens[i].content;
    if (content.empty()) {
      return InvalidArgument("the added token of id {} has no text", Index(tokens[i].id));
    }
    if (i > 0 && tokens[i - 1].content == content) {
      return InvalidArgument("added token {} is given twice, as ids {} and {}", Quote(content),
                             Index(tokens[i - 1].id), Index(tokens[i].id));
    }
    added.starts_[static_cast<unsigned char>(content[0])] = true;
    added.by_id_.push_back(i);
  }
  std::sort(added.by_id_.begin(), added.by_id_.end(),
            [&](std::size_t a, std::size_t b) { return tokens[a].id < tokens[b].id; });
  added.tokens_ = std::move(tokens);
  return added;
}

const AddedToken* AddedTokens::Find(std::string_view content) const {
  const auto it = std::lower_bound(
      tokens_.begin(), tokens_.end(), content,
      [](const AddedToken& token, std::string_view wanted) { return token.content < wanted; });
  return it != tokens_.end() && it->content == content ? &*it : nullptr;
}

const AddedToken* AddedTokens::Find(TokenId id) const {
  const auto it =
      std::lower_bound(by_id_.begin(), by_id_.end(), id,
                       [&](std::size_t i, TokenId wanted) { return tokens_[i].id < wanted; });
  return it != by_id_.end() && tokens_[*it].id == id ? &tokens_[*it] : nullptr;
}

const AddedToken* AddedTokens::LongestAt(std::string_view rest, std::size_t trusted_bytes) const {
  const AddedToken* longest = nullptr;
  // The tokens that agree with `rest` so far, narrowed byte by byte.
  auto first = tokens_.begin();
  auto last = tokens_.end();
  for (std::size_t i = 0; i < rest.size() && first != last; ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    const auto at = [i](const AddedToken& token) {
      return static_cast<unsigned char>(token.content[i]);
    };
    // A token that ends here sorts before its longer fellows and was dealt with.
    if (first->content.size() == i) ++first;
    first = std::partition_point(first, last, [&](const AddedToken& t) { return at(t) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken& t) { return at(t) <= byte; });
    if (first == last || first->content.size() != i + 1) continue;
    if (i + 1 <= trusted_bytes || first->IsOrdinaryText()) longest = &*first;
  }
  return longest;
}

std::vector<AddedTokenMatch> AddedTokens::FindAll(std::string_view text,
                                                  const std::vector<ByteSpan>& trusted) const {
  std::vector<AddedTokenMatch> matches;
  const bool anywhere = std::any_of(tokens_.begin(), tokens_.end(),
                                    [](const AddedToken& t) { return t.IsOrdinaryText(); });
  auto range = trusted.begin();
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    while (range != trusted.end() && range->end <= at) ++range;
    const bool in_trusted = range != trusted.end() && range->begin <= at;
    if (!in_trusted && !anywhere) {
      if (range == trusted.end()) break;
      at = range->begin;
      continue;
    }
    const AddedToken* token = nullptr;
    if (starts_[static_cast<unsigned char>(text[at])]) {
      token = LongestAt(text.substr(at), in_trusted ? range->end - at : 0);
    }
    if (token == nullptr) {
      ++at;
      continue;
    }
    ByteSpan span{at, at + token->content.size()};
    if (token->strip_left) span.begin -= TrailingSpace(text.substr(done, at - done));
    if (token->strip_right) span.end += LeadingSpace(text.substr(span.end));
    matches.push_back({span, token->id});
    done = span.end;
    at = span.end;
  }
  return matches;
}

}  // namespace stoker::text
