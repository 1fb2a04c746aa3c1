#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"
#include "tests/text/tiny_tokenizer.h"
#include "text/chat_template.h"

namespace stoker::text::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One line that names the file and what is wrong with it.
auto OneLineAbout(const std::string& file, const std::string& what) {
  return AllOf(HasSubstr(file), HasSubstr(what), Not(HasSubstr("\n")));
}

std::string TiktokenError(const std::string& model) {
  return LoadError({.tiktoken_model = model});
}

std::string JsonError(const json& tokenizer) {
  return LoadError({.tokenizer_json = tokenizer.dump()});
}

TEST(TokenizerErrors, ATiktokenModelThatIsDamagedIsRefused) {
  const std::string good = TiktokenModel({"ab"});
  const auto about = [](const std::string& what) { return OneLineAbout("tiktoken.model", what); };
  EXPECT_EQ(TiktokenError(good), "");
  EXPECT_THAT(TiktokenError(good + "YWI= 256\n"), about("rank 256 is given twice"));
  EXPECT_THAT(TiktokenError(good + "YWM= 258\n"), about("rank 257 is missing"));
  EXPECT_THAT(TiktokenError(good + "YWI= 257\n"), about("token \"ab\" is given twice"));
  EXPECT_THAT(TiktokenError(good + "YW*= 257\n"), about("line 258: \"YW*=\" is not base64"));
  EXPECT_THAT(TiktokenError(good + "YWM 257\n"), about("\"YWM\" is not base64"));
  EXPECT_THAT(TiktokenError(good + "YWM=257\n"), about("is not \"BASE64 RANK\""));
  EXPECT_THAT(TiktokenError(good + "YWM= -1\n"), about("\"-1\" is not a rank"));
  EXPECT_THAT(TiktokenError(good + "YWM= 4194304\n"), about("is not a rank below 4194304"));
  EXPECT_THAT(TiktokenError(good + "YWM= 99999999999999999999\n"), about("is not a rank"));
  EXPECT_THAT(TiktokenError(good + " 257\n"), about("token id 257 is empty"));
  EXPECT_THAT(TiktokenError(good.substr(0, good.size() / 2)), HasSubstr("tiktoken.model"));
  EXPECT_THAT(TiktokenError("AA== 0\n"), about("no token for the single byte 0x01"));
  EXPECT_THAT(TiktokenError(""), about("no token for the single byte 0x00"));
  EXPECT_THAT(TiktokenError(std::string("\x00\xff\x1b[2J\n", 7)), about("\\x00\\xFF\\x1B[2J"));
}

TEST(TokenizerErrors, AHugeFileIsRefusedUnread) {
  const stoker::testing::ScratchDir folder;
  std::ofstream(folder / "tiktoken.model") << "x";
  std::filesystem::resize_file(folder / "tiktoken.model", std::uintmax_t{1} << 40U);
  const auto loaded = Tokenizer::Load(folder.path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(std::string(Message(loaded.status())), OneLineAbout("tiktoken.model", "bytes, more"));
}

TEST(TokenizerErrors, AFolderWithoutATokenizerIsNotFound) {
  const stoker::testing::ScratchDir folder;
  const auto loaded = Tokenizer::Load(folder.path());
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(loaded.status())),
              OneLineAbout(folder.path().string(), "neither tiktoken.model nor tokenizer.json"));
}

TEST(TokenizerErrors, ATiktokenModelWithoutTheNamesOfItsTokensIsRefused) {
  const stoker::testing::ScratchDir folder;
  std::ofstream(folder / "tiktoken.model") << TiktokenModel();
  EXPECT_THAT(std::string(Message(Tokenizer::Load(folder.path()).status())),
              OneLineAbout("tokenizer_config.json", "names its special tokens"));
  std::ofstream(folder / "tokenizer_config.json") << "{}";
  EXPECT_TRUE(Tokenizer::Load(folder.path()).ok());
}

TEST(TokenizerErrors, AMarkerOfTheTemplateThatIsNoTokenIsRefusedByName) {
  const std::string config = R"({"added_tokens_decoder": {"300": {"content": "<|im_user|>"}}})";
  const auto tokenizer = MustLoad({.tiktoken_model = TiktokenModel(), .tokenizer_config = config});
  RenderedPrompt prompt;
  prompt.Append("<|im_user|>user <| a <|| <|b c|>", true);
  prompt.Append("<|im_end|>", false);  // what a user writes is text
  EXPECT_TRUE(tokenizer->Encode(prompt).ok());
  prompt.Append("<|im_end|>", true);
  EXPECT_THAT(std::string(Message(tokenizer->Encode(prompt).status())),
              OneLineAbout("tokenizer_config.json", "\"<|im_end|>\""));
  // Other models are trained on templates whose markers are plain text.
  const auto other = MustLoad({.tokenizer_json = TokenizerJson().dump()});
  EXPECT_TRUE(other->Encode(prompt).ok());
  const auto kimi = ChatTemplate::Kimi(ChatTemplate::KimiLayout::kK25).Render({});
  ASSERT_TRUE(kimi.ok());
  EXPECT_THAT(std::string(Message(other->Encode(*kimi).status())), HasSubstr("<|im_assistant|>"));
}

TEST(TokenizerErrors, ATokenizerJsonThatIsDamagedIsRefused) {
  const auto about = [](const std::string& what) { return OneLineAbout("tokenizer.json", what); };
  const std::string good = TokenizerJson().dump();
  EXPECT_EQ(LoadError({.tokenizer_json = good}), "");
  EXPECT_THAT(LoadError({.tokenizer_json = good.substr(0, good.size() - 9)}),
              about("not valid JSON"));
  EXPECT_THAT(LoadError({.tokenizer_json = "[]"}), about("not a JSON object"));
  EXPECT_THAT(LoadError({.tokenizer_json = "{}"}), about("no model"));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = TokenizerJson();
    changed[json::json_pointer(pointer)] = value;
    return JsonError(changed);
  };
  EXPECT_THAT(with("/model/vocab", 1), about("vocab is not an object"));
  EXPECT_THAT(with("/model/vocab/ab", -1), about("token \"ab\" has no id below"));
  EXPECT_THAT(with("/model/vocab/ab", 2'000'000'000), about("token \"ab\" has no id below"));
  EXPECT_THAT(with("/model/vocab/ab", "256"), about("token \"ab\" has no id below"));
  EXPECT_THAT(with("/model/vocab/ab", 257), about("id 257 is given twice"));
  EXPECT_THAT(with("/model/merges", "a b"), about("merges is not a list"));
  EXPECT_THAT(with("/model/merges/1", "ab  c"), about("merge 1 is not a pair"));
  EXPECT_THAT(with("/model/merges/1", json::array({"a", "b", "c"})),
              about("merge 1 is not a pair"));
  EXPECT_THAT(with("/model/merges/1", json::array({"x", "y"})),
              about("merge 1: token \"xy\" is not in"));
  EXPECT_THAT(with("/added_tokens", json::array({AddedTokenJson(300, "")})),
              about("id 300 has no text"));
  EXPECT_THAT(with("/added_tokens", json::array({AddedTokenJson(97, "<x>")})),
              about("id 97 is given twice"));
  EXPECT_THAT(with("/added_tokens", json::array({AddedTokenJson(300, "ab")})),
              about("has id 300, but 256"));
  EXPECT_THAT(with("/added_tokens", json::array({AddedTokenJson(256, "ab")})), about("forge it"));
  const auto with_prefix = [&](int id) {
    return with("/post_processor", {{"type", "TemplateProcessing"},
                                    {"single", json::array({{{"SpecialToken", {{"id", "<s>"}}}}})},
                                    {"special_tokens", {{"<s>", {{"ids", json::array({id})}}}}}});
  };
  EXPECT_EQ(with_prefix(257), "");
  EXPECT_THAT(with_prefix(258), about("258 is no token of the vocabulary"));
  json missing = TokenizerJson();
  missing["model"]["vocab"].erase("Q");
  EXPECT_THAT(JsonError(missing), about("no token for the single byte 0x51"));
}

TEST(TokenizerErrors, WhatIsNotSupportedIsNamed) {
  const auto about = [](const std::string& what) { return OneLineAbout("tokenizer.json", what); };
  const auto with = [&](const char* pointer, const json& value) {
    json changed = TokenizerJson();
    changed[json::json_pointer(pointer)] = value;
    return JsonError(changed);
  };
  EXPECT_THAT(with("/model/type", "Unigram"), about("model type \"Unigram\""));
  EXPECT_THAT(with("/model/dropout", 0.1), about("dropout"));
  EXPECT_THAT(with("/model/end_of_word_suffix", "</w>"), about("end_of_word_suffix"));
  EXPECT_THAT(with("/normalizer", {{"type", "NFKC"}}), about("normalizer \"NFKC\""));
  EXPECT_THAT(with("/decoder", nullptr), about("decoder \"null\""));
  EXPECT_THAT(with("/decoder", {{"type", "Metaspace"}}), about("decoder \"Metaspace\""));
  EXPECT_THAT(with("/pre_tokenizer", nullptr), about("pre_tokenizer null"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}}), about("not ByteLevel"));
  EXPECT_THAT(with("/post_processor", {{"type", "BertProcessing"}}), about("\"BertProcessing\""));
  json word = AddedTokenJson(300, "<x>");
  word["single_word"] = true;
  EXPECT_THAT(with("/added_tokens", json::array({word})), about("single_word"));

  const auto with_step = [&](const json& step) {
    return with("/pre_tokenizer",
                {{"type", "Sequence"},
                 {"pretokenizers", json::array({step, json{{"type", "ByteLevel"}}})}});
  };
  EXPECT_THAT(with_step({{"type", "Punctuation"}}), about("\"Punctuation\" is not supported"));
  EXPECT_THAT(with_step({{"type", "ByteLevel"}}), about("steps after ByteLevel"));
  const auto with_regex = [&](const char* regex) {
    return with_step(
        {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", regex}}}});
  };
  EXPECT_EQ(with_regex("\\p{L}+"), "");
  EXPECT_THAT(with_regex("[a&&[^b]]"), about("at byte 2: a set intersection (&&)"));
  EXPECT_THAT(with_regex("\\p{L"), about("a property without braces"));
  EXPECT_THAT(with_regex("(a"), about("regular expression"));
}

TEST(TokenizerErrors, ConfigurationsThatDisagreeAreRefused) {
  const auto about = [](const std::string& what) {
    return OneLineAbout("tokenizer_config.json", what);
  };
  const auto with_config = [](const json& config) {
    return LoadError({.tokenizer_json = TokenizerJson().dump(), .tokenizer_config = config.dump()});
  };
  EXPECT_THAT(with_config({{"add_bos_token", true}}), about("without a bos_token"));
  EXPECT_THAT(with_config({{"add_bos_token", true}, {"bos_token", "<s>"}}),
              about("bos_token \"<s>\" is not among the added tokens"));
  EXPECT_THAT(with_config({{"eos_token", "</s>"}}),
              about("eos_token \"</s>\" is not among the added tokens"));
  EXPECT_THAT(with_config({{"added_tokens_decoder", {{"x", AddedTokenJson(0, "<s>")}}}}),
              about("\"x\" is not an id"));
  EXPECT_THAT(
      LoadError({.tiktoken_model = TiktokenModel(), .tokenizer_config = R"({"added_tokens_decoder":
                                                {"9": {"content": "<s>"}}})"}),
      about("has id 9, outside [256, 512)"));
  EXPECT_THAT(LoadError({.tiktoken_model = TiktokenModel(),
                         .generation_config = R"({"eos_token_id": [1, 9999]})"}),
              OneLineAbout("generation_config.json", "eos_token_id \"9999\""));
  EXPECT_THAT(LoadError({.tiktoken_model = TiktokenModel(), .config = "{"}),
              OneLineAbout("config.json", "not valid JSON"));
}

TEST(TokenizerErrors, InvalidUtf8IsRefusedWithItsOffset) {
  const auto tokenizer = MustLoad({.tiktoken_model = TiktokenModel()});
  const auto tokens = tokenizer->Encode("caf\xC3 \xFF");
  EXPECT_EQ(tokens.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(tokens.status())), HasSubstr("at byte 3 (0xC3)"));
  RenderedPrompt prompt;
  prompt.Append("four", true);
  prompt.Append("\xFF", false);
  EXPECT_THAT(std::string(Message(tokenizer->Encode(prompt).status())), HasSubstr("at byte 4"));
}

std::unique_ptr<const Tokenizer> SplitBy(const char* regex) {
  json tokenizer = TokenizerJson();
  const json split = {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", regex}}}};
  tokenizer["pre_tokenizer"] = {
      {"type", "Sequence"}, {"pretokenizers", json::array({split, json{{"type", "ByteLevel"}}})}};
  return MustLoad({.tokenizer_json = tokenizer.dump()});
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TokenizerErrors, APatternThatTakesTooLongIsAnErrorNotAHang) {
  struct Case {
    const char* pattern;
    std::string text;
  };
  for (const auto& [pattern, text] : {
           Case{"(?:a+)+(?:a+)+(?:a+)+!", std::string(2000, 'a') + "b!"},
           // Less than PCRE2's own limit of one match, but at each place.
           Case{"(?:a+)+!|a", Repeated(std::string(21, 'a') + "b", 3000)},
           // No backtracking at all: the rest of the text is looked through at each place.
           Case{"a*b|a", std::string(200'000, 'a')},
           Case{"a*[bc]", std::string(200'000, 'a')},
       }) {
    const auto tokens = SplitBy(pattern)->Encode(text);
    EXPECT_EQ(tokens.status().code(), absl::StatusCode::kResourceExhausted) << pattern;
    EXPECT_THAT(std::string(Message(tokens.status())), HasSubstr("cannot be split")) << pattern;
  }
}

TEST(TokenizerErrors, APublishedPatternSplitsWhatIsHardForIt) {
  const auto tokenizer =
      SplitBy(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
              R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  for (const std::string& text :
       {std::string(300'000, ' ') + "x", std::string(300'000, 'a'), std::string(300'000, '\n'),
        Repeated("\n x", 100'000), Repeated("'", 300'000), Repeated("//  ", 100'000)}) {
    EXPECT_TRUE(tokenizer->Encode(text).ok()) << text.substr(0, 8);
  }
}

TEST(TokenizerErrors, MarksInTheWrongOrderTakeNoLongerThanOtherText) {
  json tokenizer = TokenizerJson();
  tokenizer["normalizer"] = {{"type", "NFC"}};
  const auto loaded = MustLoad({.tokenizer_json = tokenizer.dump()});
  // U+0323 (class 220) goes before U+0301 (class 230), and makes one character with the e.
  const auto tokens = loaded->Encode("e" + Repeated("\u0301\u0323", 200'000));
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(loaded->Decode(*tokens, false),
            "\u1EB9" + Repeated("\u0323", 199'999) + Repeated("\u0301", 200'000));
}

}  // namespace
}  // namespace stoker::text::testing
