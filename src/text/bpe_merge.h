#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/vocabulary.h"

namespace stoker::text {

/// A pair that cannot merge has this rank.
inline constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

/// What a pair of neighbours would become.
struct PairMerge {
  std::uint32_t rank = kNoRank;
  TokenId merged{};
};

/// A token of a piece while it is being merged.
struct BpePart {
  std::uint32_t begin = 0;  ///< its first byte in the piece
  TokenId token{};
  PairMerge pair;  ///< with the part to its right
};

/// Merges by scanning for the lowest rank each time: quadratic, and the fastest for short pieces.
/// `find(left, right, end)` says what two neighbouring parts would become, `end` being where the
/// right one ends.
template <typename Find>
void MergeByScanning(std::string_view piece, const Vocabulary& vocabulary, const Find& find,
                     std::vector<BpePart>& parts, std::vector<TokenId>& tokens) {
  const auto size = static_cast<std::uint32_t>(piece.size());
  parts.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    parts[i] = {i, vocabulary.OfByte(static_cast<unsigned char>(piece[i])), {}};
  }
  const auto update = [&](std::size_t i) {
    if (i + 1 == parts.size()) {
      parts[i].pair = {};
      return;
    }
    const std::uint32_t end = i + 2 < parts.size() ? parts[i + 2].begin : size;
    parts[i].pair = find(parts[i], parts[i + 1], end);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) update(i);
  while (true) {
    const auto lowest = std::min_element(
        parts.begin(), parts.end(),
        [](const BpePart& a, const BpePart& b) { return a.pair.rank < b.pair.rank; });
    if (lowest == parts.end() || lowest->pair.rank == kNoRank) break;
    const auto i = static_cast<std::size_t>(lowest - parts.begin());
    lowest->token = lowest->pair.merged;
    parts.erase(lowest + 1);
    update(i);
    if (i > 0) update(i - 1);
  }
  for (const BpePart& part : parts) tokens.push_back(part.token);
}

/// The same result with a heap of candidate pairs over a linked list of parts: n log n, for pieces
/// of any length.
template <typename Find>
void MergeByHeap(std::string_view piece, const Vocabulary& vocabulary, const Find& find,
                 std::vector<TokenId>& tokens) {
  struct Node {
    BpePart part;
    std::uint32_t previous;
    std::uint32_t next;
  };
  const auto size = static_cast<std::uint32_t>(piece.size());
  std::vector<Node> nodes(size);  // node i starts at byte i; merged ones drop out of the list
  for (std::uint32_t i = 0; i < size; ++i) {
    nodes[i] = {{i, vocabulary.OfByte(static_cast<unsigned char>(piece[i])), {}}, i - 1, i + 1};
  }
  // rank << 32 | node: the lowest rank first, the leftmost of equals.
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> candidates;
  const auto update = [&](std::uint32_t i) {
    Node& left = nodes[i];
    left.part.pair = {};
    if (left.next == size) return;
    const Node& right = nodes[left.next];
    left.part.pair = find(left.part, right.part, right.next);
    if (left.part.pair.rank == kNoRank) return;
    candidates.push((std::uint64_t{left.part.pair.rank} << 32U) | i);
  };
  for (std::uint32_t i = 0; i < size; ++i) update(i);
  while (!candidates.empty()) {
    const std::uint64_t candidate = candidates.top();
    candidates.pop();
    const auto i = static_cast<std::uint32_t>(candidate);
    Node& left = nodes[i];
    // A pair that has changed since is in the queue again under its new rank.
    if (left.part.pair.rank != candidate >> 32U) continue;
    Node& right = nodes[left.next];
    left.part.token = left.part.pair.merged;
    left.next = right.next;
    right.part.pair = {};
    if (left.next != size) nodes[left.next].previous = i;
    update(i);
    if (i != 0) update(left.previous);
  }
  for (std::uint32_t i = 0; i < size; i = nodes[i].next) tokens.push_back(nodes[i].part.token);
}

}  // namespace stoker::text
