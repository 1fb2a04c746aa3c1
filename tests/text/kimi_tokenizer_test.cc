#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/paths.h"
#include "text/tokenizer.h"

namespace stoker::text {
namespace {

// The published tokenizer of Kimi K2.6, where the data beside the repository has it.
class KimiTokenizer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path folder = testing::SharedPath("data/kimi-k2.6");
    if (folder.empty()) return;
    auto loaded = Tokenizer::Load(folder);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    tokenizer_ = *std::move(loaded);
  }
  static void TearDownTestSuite() { tokenizer_.reset(); }

  void SetUp() override {
    if (tokenizer_ == nullptr) GTEST_SKIP() << "../shared/data/kimi-k2.6 is not there";
  }

  static std::vector<int> Ids(const std::string& text, const EncodeOptions& options = {}) {
    return Plain(tokenizer_->Encode(text, options));
  }

  static std::vector<int> Plain(const absl::StatusOr<std::vector<TokenId>>& tokens) {
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    std::vector<int> ids;
    if (!tokens.ok()) return ids;
    for (const TokenId token : *tokens) ids.push_back(static_cast<int>(token));
    return ids;
  }

  static std::unique_ptr<const Tokenizer> tokenizer_;
};

std::unique_ptr<const Tokenizer> KimiTokenizer::tokenizer_;

TEST_F(KimiTokenizer, GivesTheGoldenIds) {
  const std::vector<std::pair<std::string, std::vector<int>>> golden = {
      {"Hello, world!", {19180, 11, 2695, 0}},
      {"“Hello,” 世界世世世界世界——I'm ChatGPT. CAN'T wait 'til 2026.世界世界",
       {1686, 19180, 4963,  220,  2243, 123421, 2243, 2243, 35086, 17172, 29338, 111021,
        13,   32330, 64833, 5161, 542,  3777,   220,  2975, 21,    13,    2243,  2243}},
      {"🔥", {66957, 98}},
      {"12345678  \n\n x", {6694, 12972, 4447, 23118, 1288}},
      {"漢字ABCかなカナ한국어",
       {1435, 95, 1855, 55335, 15593, 11839, 26121, 42125, 17079, 54078, 28763}},
      {"functions.get_weather:0", {41937, 1150, 21055, 2800, 25, 15}},
      {"<|im_end|>", {27, 91, 348, 11129, 91, 29}},
      {"", {}},
  };
  for (const auto& [text, ids] : golden) {
    EXPECT_EQ(Ids(text), ids) << text;
    EXPECT_EQ(tokenizer_->Decode(*tokenizer_->Encode(text), false), text);
  }
}

TEST_F(KimiTokenizer, HanIsTheScriptAloneNotItsExtensions) {
  // U+3001 and U+30FC belong to Han's script extensions: a pattern that counts them in gives
  // other ids here. The ids are tiktoken's.
  EXPECT_EQ(Ids("a、漢b"), (std::vector<int>{64, 343, 1435, 95, 65}));
  EXPECT_EQ(Ids("a々〇漢b"), (std::vector<int>{64, 106101, 91894, 1435, 95, 65}));
  EXPECT_EQ(Ids("aー漢b"), (std::vector<int>{64, 5678, 1435, 95, 65}));
}

TEST_F(KimiTokenizer, CharactersThatAreNewerThanPcre2AreCutAsTheReferenceCutsThem) {
  EXPECT_EQ(Ids("a\U0001D2C0\U0001D2C1 \U0001D2C01"),
            (std::vector<int>{64, 11889, 233, 222, 11889, 233, 223, 220, 11889, 233, 222, 16}));
  EXPECT_EQ(Ids("é\U00031350 漢\U00031351"),
            (std::vector<int>{1941, 172, 109, 235, 238, 220, 1435, 95, 172, 109, 235, 239}));
}

TEST_F(KimiTokenizer, SpecialTokensComeOnlyFromTrustedSegments) {
  RenderedPrompt prompt;
  prompt.Append("<|im_user|>user<|im_middle|>", true);
  prompt.Append("<|im_end|>", false);
  prompt.Append("<|im_end|>", true);
  EXPECT_EQ(Plain(tokenizer_->Encode(prompt)),
            (std::vector<int>{163587, Ids("user")[0], 163601, 27, 91, 348, 11129, 91, 29, 163586}));
  EXPECT_EQ(Ids("<|im_end|>", {.parse_special = true}), (std::vector<int>{163586}));
}

TEST_F(KimiTokenizer, KnowsItsSpecialTokens) {
  EXPECT_EQ(tokenizer_->vocab_size(), 163840U);
  EXPECT_EQ(tokenizer_->FindSpecial("[EOT]"), static_cast<TokenId>(163593));
  EXPECT_EQ(tokenizer_->FindSpecial("<|reserved_token_163600|>"), static_cast<TokenId>(163600));
  EXPECT_EQ(tokenizer_->FindSpecial("the"), std::nullopt);
  EXPECT_TRUE(tokenizer_->IsSpecial(static_cast<TokenId>(163586)));
  EXPECT_FALSE(tokenizer_->IsSpecial(*tokenizer_->FindSpecial("<think>")));
  EXPECT_FALSE(tokenizer_->IsSpecial(*tokenizer_->FindSpecial("<|tool_call_begin|>")));
  EXPECT_EQ(tokenizer_->end_tokens(),
            (std::vector<TokenId>{static_cast<TokenId>(163585), static_cast<TokenId>(163586),
                                  static_cast<TokenId>(163593)}));
}

}  // namespace
}  // namespace stoker::text
