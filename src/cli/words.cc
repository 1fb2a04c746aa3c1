#include "cli/words.h"

#include <CLI/CLI.hpp>
#include <cstddef>

#include "base/status.h"

namespace stoker::cli {
namespace {

// The option that `word` names, "--prompt", "--prompt=x" or "-p"; nullptr where it names none.
const CLI::Option* FindOption(const CLI::App& app, const std::string& word) {
  if (word.size() < 2 || word.front() != '-') return nullptr;
  const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word;
  const auto options = app.get_options([&name](const CLI::Option* option) {
    return option->nonpositional() && option->check_name(name);
  });
  return options.empty() ? nullptr : options.front();
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& word) {
  const auto commands =
      app.get_subcommands([&word](const CLI::App* command) { return command->get_name() == word; });
  return commands.empty() ? nullptr : commands.front();
}

bool TakesValue(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GiveValues(const CLI::App& root,
                                                    const std::vector<std::string>& words) {
  std::vector<std::string> given;
  const CLI::App* app = &root;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {  // no options from here on
      given.insert(given.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (!TakesValue(FindOption(*app, word))) {
      if (const CLI::App* command = FindCommand(*app, word)) app = command;
      given.push_back(word);
    } else if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      given.push_back(word.substr(0, word.size() - 1));
      given.emplace_back();
    } else if (word.find('=') != std::string::npos || i + 1 == words.size()) {
      given.push_back(word);
    } else {
      const std::string& value = words[++i];
      if (FindOption(*app, value) != nullptr) {
        return InvalidArgument("{} needs a value, but {} follows; if that is meant, write {}={}",
                               word, value, FindOption(*app, word)->get_name(), value);
      }
      given.insert(given.end(), {word, value});
    }
  }
  return given;
}

}  // namespace stoker::cli
