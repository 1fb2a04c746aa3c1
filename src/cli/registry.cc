#include "cli/registry.h"

namespace stoker::cli {

// One line a command: NewNAMECommand() is defined in the command's own file.
#define STOKER_COMMANDS(COMMAND) \
  COMMAND(Run)                   \
  COMMAND(Chat)                  \
  COMMAND(Inspect)               \
  COMMAND(Tokenize)              \
  COMMAND(MakeCheckpoint)        \
  COMMAND(BenchDecode)           \
  COMMAND(BenchPrefill)          \
  COMMAND(BenchMemory)

#define STOKER_DECLARE_COMMAND(name) std::unique_ptr<Command> New##name##Command();
STOKER_COMMANDS(STOKER_DECLARE_COMMAND)
#undef STOKER_DECLARE_COMMAND

std::vector<std::unique_ptr<Command>> AllCommands() {
  std::vector<std::unique_ptr<Command>> commands;
#define STOKER_ADD_COMMAND(name) commands.push_back(New##name##Command());
  STOKER_COMMANDS(STOKER_ADD_COMMAND)
#undef STOKER_ADD_COMMAND
  return commands;
}

}  // namespace stoker::cli
