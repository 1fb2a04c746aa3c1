#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/console.h"

namespace stoker::cli {

/// What came in place of the next line.
enum class LineEvent {
  kLine,
  kEnd,        ///< Ctrl-D, or the end of the input
  kInterrupt,  ///< Ctrl-C; what was typed is dropped
};

/// Reads lines of a chat. Reads standard input; one of them at a time.
class LineReader {
 public:
  /// On a terminal with editing keys and a history that is kept in `history_file` (empty: nowhere);
  /// otherwise plainly, without a prompt.
  static std::unique_ptr<LineReader> New(const Console& console,
                                         const std::filesystem::path& history_file);
  virtual ~LineReader() = default;

  /// Reads the next line, without its newline. A line that ends in a backslash goes on in the next.
  virtual LineEvent Read(std::string& line) = 0;
};

/// $XDG_STATE_HOME/stoker/NAME, by default under ~/.local/state; empty where there is no home.
std::filesystem::path StateFile(const std::string& name);

}  // namespace stoker::cli
