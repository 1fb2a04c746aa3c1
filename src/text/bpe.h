#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "text/vocabulary.h"

namespace stoker::text {

/// Two neighbouring tokens that become one, as tokenizer.json lists them.
struct MergeRule {
  TokenId left;
  TokenId right;
  TokenId merged;
};

/// Byte-pair encoding: a piece starts as single bytes, and the neighbouring pair of lowest rank,
/// the leftmost of equals, becomes one token until no pair is left (Sennrich et al., 2016).
/// Immutable; shared between threads.
class Bpe {
 public:
  /// tiktoken's rule: a pair's rank is the id of the token that it spells, and a piece that is a
  /// token is that token.
  static Bpe WithIdsAsRanks(Vocabulary vocabulary);

  /// tokenizer.json's rule: a pair's rank is its place in `merges`, a repeated pair's the last one.
  /// With `ignore_merges` a piece that is a token is that token even where the merges lead
  /// elsewhere. Every token's ids must be in the vocabulary.
  static Bpe WithMerges(Vocabulary vocabulary, const std::vector<MergeRule>& merges,
                        bool ignore_merges);

  /// Appends the tokens of `piece`, fewer than 2^31 bytes, to `tokens`. O(n log n) in its length.
  void Encode(std::string_view piece, std::vector<TokenId>& tokens) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    std::uint32_t rank;
    TokenId merged;
  };

  explicit Bpe(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  void EncodeByMerging(std::string_view piece, std::vector<TokenId>& tokens) const;

  Vocabulary vocabulary_;
  bool ids_are_ranks_ = false;
  absl::flat_hash_map<std::uint64_t, Merge> merges_;  // by left id << 32 | right id
  std::vector<bool> is_whole_;  // by id: a piece that spells it is this one token
};

}  // namespace stoker::text
