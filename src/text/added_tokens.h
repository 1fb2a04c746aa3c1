#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/regex.h"

namespace stoker::text {

/// A token that is found in text by its name, before the text is cut into pieces.
struct AddedToken {
  TokenId id;
  std::string content;
  bool special = true;      ///< decoding leaves it out unless asked to show it
  bool strip_left = false;  ///< white space before it goes with it
  bool strip_right = false;

  /// True for a run of white space that is an ordinary token (as GPT-NeoX has them): it steers
  /// nothing, so anyone's text may contain it.
  [[nodiscard]] bool IsOrdinaryText() const;
};

/// Where an added token stands in a text, with the white space that goes with it.
struct AddedTokenMatch {
  ByteSpan span;
  TokenId id;
};

/// The added tokens of a tokenizer. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;

  /// Errors: kInvalidArgument for a name that is empty or given twice.
  static absl::StatusOr<AddedTokens> Create(std::vector<AddedToken> tokens);

  /// The token of this name.
  [[nodiscard]] const AddedToken* Find(std::string_view content) const;
  /// The added token of this id; nullptr for a token of ordinary text.
  [[nodiscard]] const AddedToken* Find(TokenId id) const;

  /// The added tokens in `text`, leftmost first and the longest of those that begin there. Each
  /// lies within one of the `trusted` ranges, which are ascending and do not touch; only
  /// ordinary-text tokens may lie anywhere.
  [[nodiscard]] std::vector<AddedTokenMatch> FindAll(std::string_view text,
                                                     const std::vector<ByteSpan>& trusted) const;

 private:
  [[nodiscard]] const AddedToken* LongestAt(std::string_view rest, std::size_t trusted_bytes) const;

  std::vector<AddedToken> tokens_;  // by content
  std::vector<std::size_t> by_id_;  // indices into tokens_, by id
  std::array<bool, 256> starts_{};  // bytes that a token begins with
};

}  // namespace stoker::text
