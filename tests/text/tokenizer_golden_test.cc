// Ids that the reference packages give, made by tools/oracle/tokenizer/make_goldens.py.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sys/file.h"
#include "tests/support/paths.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace stoker::text {
namespace {

using nlohmann::json;

std::vector<json> Rows(const std::filesystem::path& path) {
  const auto contents = sys::ReadTextFile(path, std::uint64_t{1} << 24U);
  EXPECT_TRUE(contents.ok()) << contents.status();
  std::vector<json> rows;
  std::istringstream lines(contents.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    auto row = ParseJson(line);
    EXPECT_TRUE(row.ok()) << row.status() << line;
    if (row.ok()) rows.push_back(*std::move(row));
  }
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

std::vector<TokenId> Ids(const json& row) {
  std::vector<TokenId> ids;
  for (const json& id : row["ids"]) ids.push_back(static_cast<TokenId>(id.get<int>()));
  return ids;
}

class TokenizerGolden : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto loaded = Tokenizer::Load(Folder());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    tokenizer_ = *std::move(loaded);
  }

  static std::filesystem::path Folder() {
    return testing::SourcePath("tests/golden/tokenizer") / GetParam();
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
};

TEST_P(TokenizerGolden, EncodesAsTheReferenceDoes) {
  for (const json& row : Rows(Folder() / "encode.jsonl")) {
    const EncodeOptions options{.parse_special = row.value("trusted", false),
                                .add_bos = row.value("add_bos", false)};
    const auto tokens = tokenizer_->Encode(row["text"].get<std::string>(), options);
    ASSERT_TRUE(tokens.ok()) << tokens.status();
    EXPECT_EQ(*tokens, Ids(row)) << row["text"];
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TokenizerGolden,
                         ::testing::Values("kimi", "llama", "gpt2", "qwen", "deepseek",
                                           "split_removed", "split_previous", "split_next",
                                           "split_contiguous", "split_inverted"),
                         [](const auto& family) { return std::string(family.param); });

TEST(TokenizerGoldenDecode, DecodesAsTiktokenDoesAtOnceAndTokenByToken) {
  const auto folder = testing::SourcePath("tests/golden/tokenizer/kimi");
  const auto tokenizer = Tokenizer::Load(folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (const json& row : Rows(folder / "decode.jsonl")) {
    const std::vector<TokenId> ids = Ids(row);
    EXPECT_EQ((*tokenizer)->Decode(ids, false), row["text"]);
    Detokenizer detokenizer(**tokenizer);
    std::string streamed;
    for (const TokenId id : ids) streamed += detokenizer.Push(id);
    EXPECT_EQ(streamed + detokenizer.Flush(), row["text"]);
  }
}

}  // namespace
}  // namespace stoker::text
