#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/console.h"

namespace stoker::cli {

/// What came in place of the next line.
enum class LineEvent {
  kLine,
  kEnd,        ///< Ctrl-D, or the end of the input
  kInterrupt,  ///< an interrupt came (it is taken note of); what was typed is dropped
};

/// Reads lines of a chat. One of them at a time.
class LineReader {
 public:
  /// On a terminal with editing keys and a history that is kept in `history_file` (empty: nowhere);
  /// otherwise plainly, without a prompt.
  static std::unique_ptr<LineReader> New(const Console& console,
                                         const std::filesystem::path& history_file);
  /// The plain one, from an open file.
  static std::unique_ptr<LineReader> Plain(int fd);
  virtual ~LineReader() = default;

  /// Reads the next line, without its newline. A line that ends in a backslash goes on in the next,
  /// if there is one. Errors: kUnavailable where the input cannot be read, kInvalidArgument for a
  /// line that is longer than a prompt may be.
  virtual absl::StatusOr<LineEvent> Read(std::string& line) = 0;
};

/// Whether a history may be kept in `file`: there is none yet, or a regular file of a size that one
/// has. Anything else, a pipe say, could block or flood the program.
bool IsFitForHistory(const std::filesystem::path& file);

/// $XDG_STATE_HOME/stoker/NAME, by default under ~/.local/state; empty where there is no home.
std::filesystem::path StateFile(const std::string& name);

}  // namespace stoker::cli
