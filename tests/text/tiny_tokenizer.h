#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace stoker::text::testing {

/// A character below U+0800.
inline std::string Utf8(int code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | (code_point >> 6)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

/// A tiktoken.model of the 256 bytes, by value, and then `more` tokens.
inline std::string TiktokenModel(const std::vector<std::string>& more = {}) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), more.begin(), more.end());
  std::string model;
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    model += absl::Base64Escape(tokens[rank]) + " " + std::to_string(rank) + "\n";
  }
  return model;
}

/// A tokenizer.json of the 256 bytes (ids by value), the tokens "ab" (256) and "abc" (257) with the
/// merges that make them, and the given added tokens; change it to taste.
inline nlohmann::json TokenizerJson() {
  nlohmann::json vocab;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    vocab[Utf8(itself ? byte : next++)] = byte;
  }
  vocab["ab"] = 256;
  vocab["abc"] = 257;
  return {
      {"added_tokens", nlohmann::json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array({"a b", "ab c"})}}}};
}

/// An entry of added_tokens.
inline nlohmann::json AddedTokenJson(int id, const std::string& content, bool special = true) {
  return {{"id", id}, {"content", content}, {"special", special}};
}

/// The message with which files are refused; "" where they are taken.
inline std::string LoadError(const TokenizerFiles& files) {
  const auto loaded = Tokenizer::FromFiles(files);
  return loaded.ok() ? "" : std::string(Message(loaded.status()));
}

/// A tokenizer of files that must load.
inline std::unique_ptr<const Tokenizer> MustLoad(const TokenizerFiles& files) {
  auto loaded = Tokenizer::FromFiles(files);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

/// Tokens as plain numbers; none, and a failed test, for an error.
inline std::vector<int> Ids(const absl::StatusOr<std::vector<TokenId>>& tokens) {
  EXPECT_TRUE(tokens.ok()) << tokens.status();
  std::vector<int> ids;
  if (!tokens.ok()) return ids;
  for (const TokenId token : *tokens) ids.push_back(static_cast<int>(token));
  return ids;
}

}  // namespace stoker::text::testing
