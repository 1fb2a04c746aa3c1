#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"

namespace stoker::text {

/// Ids no published vocabulary comes near: what lies beyond is refused, as memory goes with it.
inline constexpr std::size_t kMaxVocabularySize = std::size_t{1} << 22U;

/// One entry of a vocabulary under construction.
struct VocabularyEntry {
  TokenId id;
  std::string bytes;
  bool ordinary = true;  ///< false: no text is encoded as it, and Find never returns it
};

/// The bytes of every token, and the token of a byte string. Immutable.
class Vocabulary {
 public:
  /// Entries may come in any order and leave ids out (those tokens have no bytes). Each of the 256
  /// single bytes must be there, so that any text has an encoding.
  /// Errors: kInvalidArgument for a repeated id or byte string, an empty token, an id out of
  /// [0, kMaxVocabularySize), or a missing byte.
  static absl::StatusOr<Vocabulary> Create(const std::vector<VocabularyEntry>& entries);

  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  /// One more than the largest id.
  [[nodiscard]] std::size_t size() const { return ends_.size(); }

  /// What the token stands for; empty for an id that is not in the vocabulary.
  [[nodiscard]] std::string_view Bytes(TokenId token) const;

  /// The ordinary token of exactly these bytes.
  [[nodiscard]] std::optional<TokenId> Find(std::string_view bytes) const;

  [[nodiscard]] TokenId OfByte(unsigned char byte) const { return of_byte_[byte]; }

 private:
  Vocabulary() = default;

  std::vector<char> arena_;  // the bytes of all tokens, by id; keys of index_ point into it
  std::vector<std::size_t>
      ends_;  // by id: where its bytes end; they begin where the last one's end
  absl::flat_hash_map<absl::string_view, TokenId> index_;
  std::array<TokenId, 256> of_byte_{};
};

}  // namespace stoker::text
