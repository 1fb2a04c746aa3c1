#include "cli/help.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/console.h"
#include "fmt/format.h"

namespace stoker::cli {
namespace {

constexpr std::size_t kLeftColumn = 28;

// "-p, --prompt TEXT"
std::string OptionNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  // A toggle's second name is its negation and needs no line of its own.
  std::string text = absl::StrJoin(names, ", ");
  if (!option.get_option_text().empty()) text += " " + option.get_option_text();
  return text;
}

std::vector<const CLI::App*> Subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace

std::string FullName(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return FullName(*app.get_parent()) + " " + app.get_name();
}

std::string HelpFormatter::Entry(const std::string& left, const std::string& right) const {
  const std::size_t indent = kLeftColumn + 2;
  std::string line = "  " + left;
  if (line.size() + 2 > indent) {
    line += "\n" + std::string(indent, ' ');
  } else {
    line.resize(indent, ' ');
  }
  return line + Wrap(right, width_ - std::min(width_ - 20, indent), indent) + "\n";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  const auto positionals =
      app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  const auto subcommands = Subcommands(*app);

  std::string text = Wrap(app->get_description(), width_, 0) + "\n\nusage: " + FullName(*app);
  if (!subcommands.empty()) text += " COMMAND";
  for (const CLI::Option* option : positionals) text += " " + option->get_name(true);
  text += " [options]\n";
  if (!app->get_footer().empty()) text += "\nexamples:\n" + app->get_footer();

  if (!subcommands.empty()) text += "\ncommands:\n";
  for (const CLI::App* command : subcommands) {
    text += Entry(command->get_name(), command->get_description());
  }
  if (!positionals.empty()) text += "\narguments:\n";
  for (const CLI::Option* option : positionals) {
    text += Entry(option->get_name(true), option->get_description());
  }
  for (const std::string& group : app->get_groups()) {
    const auto options = app->get_options([&group](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
    if (options.empty()) continue;
    text += fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options) {
      text += Entry(OptionNames(*option), option->get_description());
    }
  }
  return text;
}

}  // namespace stoker::cli
