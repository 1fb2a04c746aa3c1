#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/prompt_input.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"
#include "text/quote.h"
#include "text/tokenizer.h"

namespace stoker::cli {
namespace {

// "1, 2 3" or "[1, 2, 3]" to ids. Errors: kInvalidArgument.
absl::StatusOr<std::vector<TokenId>> ParseIds(const std::string& text) {
  absl::string_view list = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&list, "[") && !absl::ConsumeSuffix(&list, "]")) {
    return InvalidArgument("--decode: the list of ids has no ] at its end");
  }
  std::vector<TokenId> ids;
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<std::string> words =
        absl::StrSplit(part, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
    if (words.empty()) {
      return InvalidArgument("--decode: an id is missing; write a list such as 1,2,3");
    }
    for (const std::string& word : words) {
      int id = 0;
      if (!ParseValue(word, id).ok() || id < 0) {
        return InvalidArgument("--decode: \"{}\" is not a token id", word);
      }
      ids.push_back(TokenId{id});
    }
  }
  return ids;
}

absl::Status CheckIds(const std::vector<TokenId>& ids, const text::Tokenizer& tokenizer) {
  for (const TokenId id : ids) {
    if (!tokenizer.TokenBytes(id).empty()) continue;
    return InvalidArgument("--decode: {} is no token of this model, whose largest is {}",
                           static_cast<std::int32_t>(id), tokenizer.vocab_size() - 1);
  }
  return absl::OkStatus();
}

class Tokenize final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "tokenize",
            .summary = "Show the tokens of a text, or the text of tokens.",
            .examples =
                "stoker tokenize MODEL -p \"Hello, world!\"\n"
                "stoker tokenize MODEL --ids < text.txt\n"
                "stoker tokenize MODEL --decode 19180,11,2695,0"};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "folder with a tokenizer; weights are not needed");
    options.Value("-p,--prompt", "TEXT", text_, "the text; default, and with -: standard input");
    options.Flag("--ids", ids_only_, "print the ids alone, on one line");
    options.Flag("--special", special_, "names of special tokens in the text become these tokens");
    options.Value("--decode", "IDS", decode_, "print the text of these ids instead");
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (decode_ && (text_ || ids_only_)) {
      return InvalidArgument("--decode goes with neither --prompt nor --ids");
    }
    return decode_ ? ParseIds(*decode_).status() : absl::OkStatus();
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<const text::Tokenizer> tokenizer,
                            text::Tokenizer::Load(model_));
    if (decode_) return Decode(*tokenizer, common.json, console);
    STOKER_ASSIGN_OR_RETURN(const std::string text, ReadPrompt(text_, console));
    STOKER_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                            tokenizer->Encode(text, {.parse_special = special_}));
    Print(common.json ? Json(*tokenizer, text, ids) + "\n" : Text(*tokenizer, ids));
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] absl::Status Decode(const text::Tokenizer& tokenizer, bool json,
                                    const Console& console) const {
    STOKER_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, ParseIds(*decode_));
    STOKER_RETURN_IF_ERROR(CheckIds(ids, tokenizer));
    const std::string text = tokenizer.Decode(ids, true);
    const std::string shown = console.output_is_terminal ? TerminalSafe(text) : text;
    Print((json ? Json(tokenizer, text, ids) : shown) + "\n");
    return absl::OkStatus();
  }

  static std::vector<std::int32_t> Numbers(const std::vector<TokenId>& ids) {
    std::vector<std::int32_t> numbers;
    numbers.reserve(ids.size());
    for (const TokenId id : ids) numbers.push_back(static_cast<std::int32_t>(id));
    return numbers;
  }

  [[nodiscard]] std::string Text(const text::Tokenizer& tokenizer,
                                 const std::vector<TokenId>& ids) const {
    if (ids_only_) return fmt::format("{}\n", fmt::join(Numbers(ids), " "));
    std::string lines;
    for (const TokenId id : ids) {
      lines += fmt::format("{:>7}  {}\n", static_cast<std::int32_t>(id),
                           text::Quote(tokenizer.TokenBytes(id)));
    }
    return lines;
  }

  static std::string Json(const text::Tokenizer& tokenizer, const std::string& text,
                          const std::vector<TokenId>& ids) {
    nlohmann::ordered_json json = {
        {"text", text}, {"ids", Numbers(ids)}, {"tokens", nlohmann::json::array()}};
    for (const TokenId id : ids) json["tokens"].push_back(tokenizer.Decode({&id, 1}, true));
    return DumpJson(json);
  }

  std::string model_;
  std::optional<std::string> text_;
  std::optional<std::string> decode_;
  bool ids_only_ = false;
  bool special_ = false;
};

}  // namespace

std::unique_ptr<Command> NewTokenizeCommand() {
  return std::make_unique<Tokenize>();
}

}  // namespace stoker::cli
