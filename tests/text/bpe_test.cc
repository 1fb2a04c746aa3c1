#include "text/bpe.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace stoker::text {
namespace {

std::vector<VocabularyEntry> Bytes() {
  std::vector<VocabularyEntry> entries;
  for (int byte = 0; byte < 256; ++byte) {
    entries.push_back(
        {.id = static_cast<TokenId>(byte), .bytes = std::string(1, static_cast<char>(byte))});
  }
  return entries;
}

// Sennrich's loop as the paper has it: find the best pair of all, merge it, start again.
std::vector<std::string> MergeNaively(const std::string& piece,
                                      const std::map<std::string, std::size_t>& ranks) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    std::size_t best = parts.size();
    std::size_t best_rank = SIZE_MAX;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto it = ranks.find(parts[i] + parts[i + 1]);
      if (it != ranks.end() && it->second < best_rank) {
        best = i;
        best_rank = it->second;
      }
    }
    if (best == parts.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, ShortAndLongPiecesMergeTheLowestRankLeftmostFirst) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<VocabularyEntry> entries = Bytes();
    std::map<std::string, std::size_t> ranks;
    while (ranks.size() < 30) {
      std::string token(2 + random() % 5, 'a');
      for (char& c : token) c = static_cast<char>('a' + random() % 3);
      const std::size_t rank = entries.size();
      if (ranks.emplace(token, rank).second) {
        entries.push_back({.id = static_cast<TokenId>(rank), .bytes = token});
      }
    }
    auto vocabulary = Vocabulary::Create(entries);
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
    const Bpe bpe = Bpe::WithIdsAsRanks(*std::move(vocabulary));
    for (const std::size_t length : {2, 7, 90, 97, 300}) {
      std::string piece(length, 'a');
      for (char& c : piece) c = static_cast<char>('a' + random() % 3);
      std::vector<TokenId> tokens;
      bpe.Encode(piece, tokens);
      std::vector<std::string> parts;
      for (const TokenId token : tokens) parts.emplace_back(bpe.vocabulary().Bytes(token));
      const std::vector<std::string> expected =
          ranks.contains(piece) ? std::vector<std::string>{piece} : MergeNaively(piece, ranks);
      EXPECT_EQ(parts, expected) << piece;
    }
  }
}

TEST(Bpe, ATokenThatItsMergesDoNotReachIsFoundOnlyWhereMergesAreIgnored) {
  const auto encode = [](bool ignore_merges) {
    std::vector<VocabularyEntry> entries = Bytes();
    entries.push_back({.id = static_cast<TokenId>(256), .bytes = "ab"});
    entries.push_back({.id = static_cast<TokenId>(257), .bytes = "abc"});
    const auto id = [](int value) { return static_cast<TokenId>(value); };
    const std::vector<MergeRule> merges = {{id('a'), id('b'), id(256)}};
    std::vector<TokenId> tokens;
    Bpe::WithMerges(*Vocabulary::Create(entries), merges, ignore_merges).Encode("abc", tokens);
    return tokens.size();
  };
  EXPECT_EQ(encode(false), 2U);
  EXPECT_EQ(encode(true), 1U);
}

TEST(Vocabulary, TokensThatAreNoTextAreNotFound) {
  std::vector<VocabularyEntry> entries = Bytes();
  entries.push_back({.id = static_cast<TokenId>(300), .bytes = "<s>", .ordinary = false});
  const auto vocabulary = Vocabulary::Create(entries);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->Find("<s>"), std::nullopt);
  EXPECT_EQ(vocabulary->Bytes(static_cast<TokenId>(300)), "<s>");
  EXPECT_EQ(vocabulary->Bytes(static_cast<TokenId>(299)), "");
  EXPECT_EQ(vocabulary->size(), 301U);
}

}  // namespace
}  // namespace stoker::text
