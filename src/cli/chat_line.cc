#include "cli/chat_line.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/suggest.h"
#include "fmt/format.h"

namespace stoker::cli {
namespace {

using Kind = ChatLine::Kind;

const std::vector<std::pair<std::string, Kind>>& Commands() {
  static const auto& commands = *new std::vector<std::pair<std::string, Kind>>{
      {"/help", Kind::kHelp}, {"/stats", Kind::kStats}, {"/reset", Kind::kReset},
      {"/exit", Kind::kExit}, {"/quit", Kind::kExit},
  };
  return commands;
}

}  // namespace

ChatLine ParseChatLine(std::string_view line) {
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace(absl::string_view(line.data(), line.size()));
  const std::string text(trimmed);
  if (text.empty()) return {};
  const std::string word = text.substr(0, text.find_first_of(" \t\n"));
  const bool is_command = word.size() > 1 && word.front() == '/' &&
                          std::all_of(word.begin() + 1, word.end(), absl::ascii_isalpha);
  if (!is_command) return {.kind = Kind::kMessage, .text = text};
  std::vector<std::string> names;
  for (const auto& [name, kind] : Commands()) {
    if (name == word) return {.kind = kind, .text = {}};
    names.push_back(name);
  }
  const std::string hint = DidYouMean(word, names);
  return {.kind = Kind::kUnknown,
          .text = fmt::format("no command {}{}", word, hint.empty() ? "; see /help" : hint)};
}

std::string_view ChatHelp() {
  return "/reset   forget the conversation\n"
         "/stats   speed of the last answer, and how full the context is\n"
         "/exit    leave; so does Ctrl-D\n"
         "Ctrl-C   stop the answer\n"
         "A line that ends in \\ goes on in the next one.\n";
}

}  // namespace stoker::cli
