#pragma once

#include <string>
#include <string_view>

namespace stoker::cli {

/// What the program's standard streams are connected to.
struct Console {
  bool input_is_terminal = false;
  bool output_is_terminal = false;
  bool error_is_terminal = false;
  bool colour = false;        ///< standard output is a terminal and NO_COLOR is not set
  bool error_colour = false;  ///< the same of standard error
  int width = 80;             ///< columns of the terminal

  /// Looks at the process's streams and environment.
  static Console Detect();
};

/// Writes to standard output, buffered; FlushOutput hands it over and tells of failures. From one
/// thread.
void Print(std::string_view text);

/// False once something that was printed could not be written (a full disk, say).
bool FlushOutput();

/// Writes to standard error at once, after what was printed before.
void PrintToError(std::string_view text);

/// `text`, of one or more lines, with each control character but newline and tab shown as its
/// picture, or as U+FFFD where it has none, like bytes that are no UTF-8: what a model writes must
/// not drive the terminal. Carriage returns are dropped. Pure.
std::string TerminalSafe(std::string_view text);

/// Prints "stoker: error: MESSAGE" as one line on standard error.
void PrintError(std::string_view message);

/// Prints "stoker: MESSAGE" as one line on standard error.
void PrintNote(std::string_view message);

/// Wraps `text` at spaces to lines of at most `width` columns, joined by "\n" and `indent` spaces.
/// Pure.
std::string Wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace stoker::cli
