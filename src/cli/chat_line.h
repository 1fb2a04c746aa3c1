#pragma once

#include <string>
#include <string_view>

namespace stoker::cli {

/// What a line typed into a chat asks for.
struct ChatLine {
  enum class Kind { kNothing, kMessage, kReset, kStats, kHelp, kExit, kUnknown };
  Kind kind = Kind::kNothing;
  std::string text;  ///< the message; of an unknown command, what to say about it
};

/// Reads a line. A first word that is "/" and letters is a command; "/etc/hosts" is not. Pure.
ChatLine ParseChatLine(std::string_view line);

/// The commands and keys, for /help.
std::string_view ChatHelp();

}  // namespace stoker::cli
