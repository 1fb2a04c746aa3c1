#include "text/bpe.h"

#include "base/check.h"
#include "text/bpe_merge.h"

namespace stoker::text {
namespace {

// Where scanning and the heap cost the same, measured on single pieces.
constexpr std::size_t kLongestScannedBytes = 96;

std::uint64_t PairKey(TokenId left, TokenId right) {
  return (std::uint64_t{Index(left)} << 32U) | Index(right);
}

template <typename Find>
void MergePiece(std::string_view piece, const Vocabulary& vocabulary, const Find& find,
                std::vector<TokenId>& tokens) {
  if (piece.size() <= kLongestScannedBytes) {
    thread_local std::vector<BpePart> parts;
    MergeByScanning(piece, vocabulary, find, parts, tokens);
  } else {
    MergeByHeap(piece, vocabulary, find, tokens);
  }
}

}  // namespace

Bpe Bpe::WithIdsAsRanks(Vocabulary vocabulary) {
  Bpe bpe(std::move(vocabulary));
  bpe.ids_are_ranks_ = true;
  bpe.is_whole_.assign(bpe.vocabulary_.size(), true);
  return bpe;
}

Bpe Bpe::WithMerges(Vocabulary vocabulary, const std::vector<MergeRule>& merges,
                    bool ignore_merges) {
  Bpe bpe(std::move(vocabulary));
  bpe.merges_.reserve(merges.size());
  std::uint32_t rank = 0;
  for (const MergeRule& rule : merges) {
    STOKER_CHECK(!bpe.vocabulary_.Bytes(rule.merged).empty());
    bpe.merges_[PairKey(rule.left, rule.right)] = {rank++, rule.merged};
  }
  bpe.is_whole_.assign(bpe.vocabulary_.size(), ignore_merges);
  if (ignore_merges) return bpe;
  // Most tokens are what merging their own bytes gives; for those a look-up replaces the merging.
  std::vector<TokenId> tokens;
  for (std::size_t id = 0; id < bpe.vocabulary_.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    const std::string_view bytes = bpe.vocabulary_.Bytes(token);
    if (bytes.empty() || bpe.vocabulary_.Find(bytes) != token) continue;
    tokens.clear();
    bpe.EncodeByMerging(bytes, tokens);
    bpe.is_whole_[id] = tokens.size() == 1 && tokens[0] == token;
  }
  return bpe;
}

void Bpe::Encode(std::string_view piece, std::vector<TokenId>& tokens) const {
  STOKER_DCHECK(piece.size() < (std::size_t{1} << 31U));
  const std::optional<TokenId> whole = vocabulary_.Find(piece);
  if (whole.has_value() && is_whole_[Index(*whole)]) {
    tokens.push_back(*whole);
  } else {
    EncodeByMerging(piece, tokens);
  }
}

void Bpe::EncodeByMerging(std::string_view piece, std::vector<TokenId>& tokens) const {
  if (ids_are_ranks_) {
    const auto find = [&](const BpePart& left, const BpePart&, std::uint32_t end) -> PairMerge {
      const auto merged = vocabulary_.Find(piece.substr(left.begin, end - left.begin));
      if (!merged.has_value()) return {};
      return {static_cast<std::uint32_t>(Index(*merged)), *merged};
    };
    MergePiece(piece, vocabulary_, find, tokens);
  } else {
    const auto find = [&](const BpePart& left, const BpePart& right, std::uint32_t) -> PairMerge {
      const auto it = merges_.find(PairKey(left.token, right.token));
      if (it == merges_.end()) return {};
      return {it->second.rank, it->second.merged};
    };
    MergePiece(piece, vocabulary_, find, tokens);
  }
}

}  // namespace stoker::text
