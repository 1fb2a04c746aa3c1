#include "text/detokenizer.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/text/tiny_tokenizer.h"
#include "text/utf8.h"

namespace stoker::text::testing {
namespace {

std::unique_ptr<const Tokenizer> Tiny() {
  // Tokens that end inside a character or begin there, as real vocabularies have them.
  return MustLoad({.tiktoken_model = TiktokenModel({"\xF0\x9F", "\x94\xA5 \xF0", "é", "漢\xE5",
                                                    "\xAD\x97", "👩\xE2\x80", "\x8D👧", " x"}),
                   .tokenizer_config = R"({"added_tokens_decoder":
      {"264": {"content": "<|im_end|>", "special": true}, "265": {"content": "<think>"}}})"});
}

TEST(Detokenizer, ACharacterComesWhole) {
  const auto tokenizer = Tiny();
  Detokenizer detokenizer(*tokenizer);
  const auto push = [&](int token) { return detokenizer.Push(static_cast<TokenId>(token)); };
  EXPECT_EQ(push(256), "");    // F0 9F
  EXPECT_EQ(push(257), "🔥 ");  // 94 A5 20 F0
  EXPECT_EQ(push(0x9F), "");
  EXPECT_EQ(push(264), "");  // hidden, and no end of the character
  EXPECT_EQ(push(257), "🔥 ");
  EXPECT_EQ(detokenizer.Flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.Flush(), "");
  EXPECT_EQ(push('a'), "a");
}

TEST(Detokenizer, BytesThatFormNoCharacterAreReplacedAtOnce) {
  const auto tokenizer = Tiny();
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.Push(static_cast<TokenId>(0x80)), "\uFFFD");
  EXPECT_EQ(detokenizer.Push(static_cast<TokenId>(256)), "");
  EXPECT_EQ(detokenizer.Push(static_cast<TokenId>('a')), "\uFFFDa");
}

TEST(Detokenizer, SpecialTokensShowOnlyOnRequest) {
  const auto tokenizer = Tiny();
  Detokenizer shown(*tokenizer, /*show_special=*/true);
  EXPECT_EQ(shown.Push(static_cast<TokenId>(264)), "<|im_end|>");
  Detokenizer hidden(*tokenizer);
  EXPECT_EQ(hidden.Push(static_cast<TokenId>(264)), "");
  EXPECT_EQ(hidden.Push(static_cast<TokenId>(265)), "<think>");
}

TEST(Detokenizer, StreamingGivesWhatDecodingAtOnceGives) {
  const auto tokenizer = Tiny();
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    // Mostly the tokens that split characters, and now and then any at all.
    std::vector<TokenId> tokens(random() % 24);
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random() % 4 == 0 ? random() % 520 : 256 + random() % 10);
    }
    for (const bool show_special : {false, true}) {
      Detokenizer detokenizer(*tokenizer, show_special);
      std::string streamed;
      for (const TokenId token : tokens) {
        const std::string text = detokenizer.Push(token);
        EXPECT_EQ(FindInvalidUtf8(text), std::nullopt);
        streamed += text;
      }
      streamed += detokenizer.Flush();
      EXPECT_EQ(streamed, tokenizer->Decode(tokens, show_special));
    }
  }
}

TEST(Detokenizer, TextComesBackAsItWas) {
  const auto tokenizer = Tiny();
  for (const std::string text : {"漢字 👩‍👧 🔥 é x", "naïve 日本語\n\n  🇩🇪", ""}) {
    const auto tokens = tokenizer->Encode(text);
    ASSERT_TRUE(tokens.ok()) << tokens.status();
    Detokenizer detokenizer(*tokenizer);
    std::string streamed;
    for (const TokenId token : *tokens) streamed += detokenizer.Push(token);
    EXPECT_EQ(streamed + detokenizer.Flush(), text);
  }
}

}  // namespace
}  // namespace stoker::text::testing
