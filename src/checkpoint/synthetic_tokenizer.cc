#include "checkpoint/synthetic_tokenizer.h"

#include <array>
#include <iterator>
#include <string_view>

#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace stoker::checkpoint {
namespace {

constexpr std::size_t kByteTokens = 256;

// Kimi K2's special tokens by their distance from the first special id
// (huggingface.co/moonshotai/Kimi-K2-Instruct, tokenizer_config.json).
struct SpecialToken {
  std::size_t place;
  std::string_view text;
  bool special;  // false: shown in decoded text
};

constexpr std::array<SpecialToken, 23> kSpecialTokens = {{
    {0, "[BOS]", true},
    {1, "[EOS]", true},
    {2, "<|im_end|>", true},
    {3, "<|im_user|>", true},
    {4, "<|im_assistant|>", true},
    {6, "<|start_header_id|>", true},
    {7, "<|end_header_id|>", true},
    {9, "[EOT]", true},
    {10, "<|im_system|>", true},
    {11, "<|tool_calls_section_begin|>", false},
    {12, "<|tool_calls_section_end|>", false},
    {13, "<|tool_call_begin|>", false},
    {14, "<|tool_call_argument_begin|>", false},
    {15, "<|tool_call_end|>", false},
    {17, "<|im_middle|>", true},
    {18, "<|media_begin|>", true},
    {19, "<|media_content|>", true},
    {20, "<|media_end|>", true},
    {21, "<|media_pad|>", true},
    {22, "<think>", false},
    {23, "</think>", false},
    {254, "[UNK]", true},
    {255, "[PAD]", true},
}};

}  // namespace

std::string ByteTokenizerRanks() {
  std::string text;
  for (std::size_t byte = 0; byte < kByteTokens; ++byte) {
    const char value = static_cast<char>(byte);
    std::string encoded;
    absl::Base64Escape(absl::string_view(&value, 1), &encoded);
    fmt::format_to(std::back_inserter(text), "{} {}\n", encoded, byte);
  }
  return text;
}

std::string ByteTokenizerConfig() {
  using Json = nlohmann::ordered_json;
  Json added = Json::object();
  for (const SpecialToken& token : kSpecialTokens) {
    added[fmt::format("{}", kByteTokens + token.place)] = {
        {"content", token.text}, {"lstrip", false},      {"normalized", false},
        {"rstrip", false},       {"single_word", false}, {"special", token.special}};
  }
  const Json config = {{"added_tokens_decoder", added}, {"bos_token", "[BOS]"},
                       {"eos_token", "[EOS]"},          {"pad_token", "[PAD]"},
                       {"unk_token", "[UNK]"},          {"tokenizer_class", "TikTokenTokenizer"}};
  return config.dump(2) + "\n";
}

}  // namespace stoker::checkpoint
