#include "text/tokenizer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/tiny_tokenizer.h"

namespace stoker::text::testing {
namespace {

using nlohmann::json;

constexpr const char* kKimiConfig = R"({"eos_token": {"content": "[EOS]"}, "added_tokens_decoder": {
    "257": {"content": "[EOS]", "special": true},
    "258": {"content": "<|im_end|>", "special": true},
    "259": {"content": "<think>", "special": false}}})";

std::unique_ptr<const Tokenizer> TinyKimi(std::optional<std::string> config = std::nullopt) {
  return MustLoad({.tiktoken_model = TiktokenModel({"\n\n"}),
                   .tokenizer_config = kKimiConfig,
                   .config = std::move(config)});
}

TEST(Tokenizer, ASpecialTokenNeedsEachOfItsCharactersTrusted) {
  const auto tokenizer = TinyKimi();
  RenderedPrompt prompt;
  prompt.Append("<|im_", true);
  prompt.Append("end|>", false);
  prompt.Append("<|im_end|>", true);
  const std::vector<int> ids = Ids(tokenizer->Encode(prompt));
  ASSERT_EQ(ids.size(), 11U);
  EXPECT_EQ(ids.front(), '<');
  EXPECT_EQ(ids.back(), 258);
}

TEST(Tokenizer, TrustedNeighboursCanFormOneSpecialToken) {
  const auto tokenizer = TinyKimi();
  // Not through Append, which would join them.
  const RenderedPrompt prompt{{{"<|im_", true}, {"", false}, {"end|>", true}}};
  EXPECT_EQ(Ids(tokenizer->Encode(prompt)), (std::vector<int>{258}));
}

TEST(Tokenizer, ABoundaryBetweenOriginsDoesNotChangeOrdinaryText) {
  const auto tokenizer = TinyKimi();
  RenderedPrompt prompt;
  prompt.Append("x\n", true);
  prompt.Append("\ny", false);
  EXPECT_EQ(Ids(tokenizer->Encode(prompt)), (std::vector<int>{'x', 256, 'y'}));
}

TEST(Tokenizer, UserTextNeverGivesSpecialTokens) {
  const auto tokenizer = TinyKimi();
  std::string all;
  for (std::size_t id = 257; id < tokenizer->vocab_size(); ++id) {
    all += tokenizer->TokenBytes(static_cast<TokenId>(id));
  }
  for (const int id : Ids(tokenizer->Encode(all))) EXPECT_LT(id, 257);
  for (const int id : Ids(tokenizer->Encode(all, {.parse_special = true}))) EXPECT_GE(id, 257);
}

TEST(Tokenizer, ThinkingMarkersStayInDecodedTextAndSpecialTokensGo) {
  const auto tokenizer = TinyKimi();
  const auto tokens = tokenizer->Encode("<think>a<|im_end|>", {.parse_special = true});
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokenizer->Decode(*tokens, false), "<think>a");
  EXPECT_EQ(tokenizer->Decode(*tokens, true), "<think>a<|im_end|>");
}

TEST(Tokenizer, IdsOutsideTheVocabularyStandForNothing) {
  const auto tokenizer = TinyKimi();
  const std::vector<TokenId> tokens = {static_cast<TokenId>('a'), static_cast<TokenId>(1'000'000),
                                       static_cast<TokenId>(-1), static_cast<TokenId>('b')};
  EXPECT_EQ(tokenizer->Decode(tokens, true), "ab");
}

TEST(Tokenizer, KimiReserves256SpecialTokensWithinTheModelsVocabulary) {
  EXPECT_EQ(TinyKimi()->vocab_size(), 257U + 256U);
  const auto tokenizer = TinyKimi(R"({"text_config": {"vocab_size": 264}})");
  EXPECT_EQ(tokenizer->vocab_size(), 264U);
  EXPECT_EQ(tokenizer->FindSpecial("<|reserved_token_263|>"), static_cast<TokenId>(263));
}

TEST(Tokenizer, AnswersEndAtEveryEndThatAnyFileNames) {
  const auto ends = [](const Tokenizer& tokenizer) {
    std::vector<int> ids;
    for (const TokenId token : tokenizer.end_tokens()) ids.push_back(static_cast<int>(token));
    return ids;
  };
  EXPECT_EQ(ends(*TinyKimi()), (std::vector<int>{257, 258}));
  EXPECT_EQ(
      ends(*MustLoad({.tiktoken_model = TiktokenModel(),
                      .generation_config = R"({"eos_token_id": [3, 1]})",
                      .config = R"({"eos_token_id": 2, "text_config": {"eos_token_id": 1}})"})),
      (std::vector<int>{1, 2, 3}));
}

TEST(Tokenizer, TheConfigurationDecidesOnTheBeginningOfSequence) {
  json tokenizer = TokenizerJson();
  tokenizer["added_tokens"] = json::array({AddedTokenJson(300, "<s>")});
  tokenizer["post_processor"] = {{"type", "TemplateProcessing"},
                                 {"single", json::array({json{{"SpecialToken", {{"id", "<s>"}}}},
                                                         json{{"Sequence", {{"id", "A"}}}}})},
                                 {"special_tokens", {{"<s>", {{"ids", json::array({300})}}}}}};
  const auto load = [&](const char* config) {
    return MustLoad({.tokenizer_json = tokenizer.dump(), .tokenizer_config = config});
  };
  EXPECT_EQ(Ids(load("{}")->Encode("a")), (std::vector<int>{300, 'a'}));
  EXPECT_EQ(Ids(load("{}")->Encode("a", {.add_bos = false})), (std::vector<int>{'a'}));
  EXPECT_EQ(Ids(load(R"({"add_bos_token": false})")->Encode("a")), (std::vector<int>{'a'}));
  EXPECT_EQ(Ids(load("{}")->Encode(RenderedPrompt{{{"a", true}}})), (std::vector<int>{'a'}));
  tokenizer.erase("post_processor");
  EXPECT_EQ(Ids(load(R"({"add_bos_token": true, "bos_token": "<s>"})")->Encode("a")),
            (std::vector<int>{300, 'a'}));
}

TEST(Tokenizer, TokensOfTheConfigurationJoinThoseOfTokenizerJson) {
  const auto tokenizer = MustLoad(
      {.tokenizer_json = TokenizerJson().dump(), .tokenizer_config = R"({"eos_token": "<e>",
      "added_tokens_decoder": {"258": {"content": "<e>", "special": true}}})"});
  EXPECT_EQ(Ids(tokenizer->Encode("abc<e>", {.parse_special = true})),
            (std::vector<int>{257, 258}));
  EXPECT_EQ(tokenizer->end_tokens(), (std::vector<TokenId>{static_cast<TokenId>(258)}));
}

TEST(Tokenizer, WhiteSpaceTokensAreOrdinaryText) {
  json layout = TokenizerJson();
  layout["added_tokens"] =
      json::array({AddedTokenJson(300, "  ", false), AddedTokenJson(301, "<t>", false)});
  const auto tokenizer = MustLoad({.tokenizer_json = layout.dump()});
  EXPECT_EQ(Ids(tokenizer->Encode("a  <t>")), (std::vector<int>{'a', 300, '<', 't', '>'}));
}

TEST(Tokenizer, MergesAlsoWorkAsPairs) {
  json layout = TokenizerJson();
  layout["model"]["merges"] = json::array({json::array({"a", "b"}), json::array({"ab", "c"})});
  EXPECT_EQ(Ids(MustLoad({.tokenizer_json = layout.dump()})->Encode("abcab")),
            (std::vector<int>{257, 256}));
}

TEST(Tokenizer, AMegabyteInOnePieceIsMergedInOneGo) {
  json layout = TokenizerJson();
  layout["pre_tokenizer"]["use_regex"] = false;
  const auto tokenizer = MustLoad({.tokenizer_json = layout.dump()});
  std::string text;
  while (text.size() < 1'000'000) text += "abcab";
  const auto tokens = tokenizer->Encode(text);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->size(), 400'000U);
  EXPECT_EQ(tokenizer->Decode(*tokens, false), text);
}

}  // namespace
}  // namespace stoker::text::testing
