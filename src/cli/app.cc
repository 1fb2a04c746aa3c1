#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/registry.h"
#include "cli/words.h"
#include "fmt/format.h"
#include "kernels/isa.h"

namespace stoker::cli {
namespace {

constexpr int kMostThreads = 1024;

// A command and its place in the parser.
struct Entry {
  CLI::App* app;
  std::unique_ptr<Command> command;
};

void AddCommonOptions(CLI::App& app, CommonOptions& common) {
  app.set_help_flag("");
  Options options(app);
  options.Heading("options of every command");
  options.Flag("--json", common.json, "print one JSON object instead of text for people");
  options.Value("--threads", "N", common.threads, "workers; default: one per physical core");
  options.Value("--isa", "NAME", common.isa,
                "kernels: auto, avx512bf16, avx512, avx2, portable, or ref (plain and slow)");
  options.Value("--log-level", "LEVEL", common.log_level,
                "trace, debug, info, warn, error or off; default: info");
  app.set_help_flag("-h,--help", "print this help and exit")->group("options of every command");
}

CLI::App& AddGroup(CLI::App& root, const std::string& name, CommonOptions& common) {
  for (CLI::App* group : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (group->get_name() == name) return *group;
  }
  CLI::App& group = *root.add_subcommand(name, std::string(GroupSummary(name)));
  group.require_subcommand(0, 1);
  AddCommonOptions(group, common);
  return group;
}

std::vector<Entry> AddCommands(CLI::App& root, CommonOptions& common) {
  std::vector<Entry> entries;
  for (std::unique_ptr<Command>& command : AllCommands()) {
    const Command::Info info = command->info();
    const std::vector<std::string> words = absl::StrSplit(info.name, ' ');
    CLI::App& parent = words.size() > 1 ? AddGroup(root, words.front(), common) : root;
    CLI::App& app = *parent.add_subcommand(words.back(), info.summary);
    std::string examples;
    for (const absl::string_view line : absl::StrSplit(info.examples, '\n', absl::SkipEmpty())) {
      examples += "  " + std::string(line) + "\n";
    }
    app.footer(examples);
    Options options(app);
    command->AddOptions(options);
    AddCommonOptions(app, common);
    entries.push_back({&app, std::move(command)});
  }
  return entries;
}

// The innermost command that the command line names.
CLI::App& Selected(CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : Selected(*chosen.front());
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// What is wrong with a command line that did not parse.
absl::Status Diagnose(CLI::App& root, const std::string& parser_message) {
  CLI::App& app = Selected(root);
  const std::string help = fmt::format("see {} --help", FullName(app));
  const std::vector<std::string> extras = root.remaining(true);
  if (extras.empty()) return InvalidArgument("{}; {}", parser_message, help);
  const std::string& word = extras.front();
  if (word.size() > 1 && word.front() == '-') {
    const std::string name = word.substr(0, word.find('='));
    const std::string hint = DidYouMean(name, OptionNames(app));
    return InvalidArgument("unknown option {}{}", name, hint.empty() ? "; " + help : hint);
  }
  const std::vector<std::string> commands = CommandNames(app);
  if (commands.empty()) return InvalidArgument("unexpected argument \"{}\"; {}", word, help);
  const std::string hint = DidYouMean(word, commands);
  return InvalidArgument("unknown command \"{}\"{}", word, hint.empty() ? "; " + help : hint);
}

absl::Status CheckCommon(const CommonOptions& common) {
  STOKER_RETURN_IF_ERROR(SetUpLogging(common.log_level));
  if (common.threads < 0 || common.threads > kMostThreads) {
    return InvalidArgument("--threads: {} is not from 0 (choose) to {}", common.threads,
                           kMostThreads);
  }
  return kernels::ParseIsa(common.isa).status();
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  return absl::IsCancelled(status) ? InterruptExitCode() : kFailureExitCode;
}

absl::Status WriteOut() {
  return FlushOutput() ? absl::OkStatus() : DataLoss("cannot write to standard output");
}

// Prints what --help or --version asks for.
int PrintAnswer(const std::string& text) {
  Print(text);
  const absl::Status status = WriteOut();
  if (!status.ok()) PrintError(Message(status));
  return ExitCode(status);
}

int RunCommand(Command& command, const CommonOptions& common, const Console& console) {
  absl::Status status = CheckCommon(common);
  if (status.ok()) status = command.Check(common);
  if (!status.ok()) {
    PrintError(Message(status));
    return kUsageExitCode;
  }
  CatchInterrupts(console);
  status = command.Run(common, console);
  if (status.ok()) status = WriteOut();
  if (!status.ok() && !absl::IsCancelled(status)) PrintError(Message(status));
  return ExitCode(status);
}

// The command line without the program's name. `stoker help run` is `stoker run --help`.
std::vector<std::string> Words(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

int ParseAndRun(int argc, const char* const* argv) {
  const Console console = Console::Detect();
  CommonOptions common;
  CLI::App root("Stoker runs mixture-of-experts models of the Kimi K2 and DeepSeek-V3 family.",
                "stoker");
  const auto width = static_cast<std::size_t>(std::clamp(console.width, 40, 100));
  root.formatter(std::make_shared<HelpFormatter>(width));
  root.set_version_flag("--version", "stoker " STOKER_VERSION, "print the version and exit")
      ->group("options of every command");
  root.require_subcommand(0, 1);
  AddCommonOptions(root, common);
  root.footer("  stoker run MODEL -p \"Why is the sky blue?\"\n  stoker run --help\n");
  const std::vector<Entry> entries = AddCommands(root, common);
  absl::StatusOr<std::vector<std::string>> words = GiveValues(root, Words(argc, argv));
  if (!words.ok()) {
    PrintError(Message(words.status()));
    return kUsageExitCode;
  }
  std::ranges::reverse(*words);  // the parser takes the last word first
  try {
    root.parse(*std::move(words));
  } catch (const CLI::Success&) {  // --help, --version
    const CLI::App& app = Selected(root);
    return PrintAnswer(root.count("--version") > 0 ? "stoker " STOKER_VERSION "\n" : app.help());
  } catch (const CLI::ParseError& error) {
    PrintError(Message(Diagnose(root, error.what())));
    return kUsageExitCode;
  }
  const CLI::App& app = Selected(root);
  const auto entry = std::ranges::find_if(
      entries, [&app](const Entry& candidate) { return candidate.app == &app; });
  if (entry == entries.end()) {  // a group, or nothing at all
    PrintToError(app.help());
    return kUsageExitCode;
  }
  return RunCommand(*entry->command, common, console);
}

}  // namespace

std::string_view GroupSummary(std::string_view group) {
  return group == "bench" ? "Measure this machine, and models on it." : "";
}

int RunApp(int argc, const char* const* argv) {
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::bad_alloc&) {
    PrintError("out of memory");
  } catch (const std::exception& error) {  // the last net: modules answer with a status
    PrintError(fmt::format("unexpected failure: {}", error.what()));
  }
  return kFailureExitCode;
}

}  // namespace stoker::cli
