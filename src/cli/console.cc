#include "cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/printable.h"
#include "fmt/format.h"

namespace stoker::cli {
namespace {

// The C library's streams drop output when a signal interrupts a write, and Ctrl-C must not.
constexpr std::size_t kOutputBuffer = std::size_t{64} << 10;
std::string pending_output;
bool output_failed = false;

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // the other end shares a pipe that does not block
      pollfd room = {.fd = fd, .events = POLLOUT, .revents = 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Columns of the terminal behind `fd`; 80 where there is none.
int TerminalWidth(int fd) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Console Console::Detect() {
  Console console;
  console.input_is_terminal = isatty(STDIN_FILENO) == 1;
  console.output_is_terminal = isatty(STDOUT_FILENO) == 1;
  console.error_is_terminal = isatty(STDERR_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const bool colour = no_colour == nullptr || *no_colour == '\0';
  console.colour = console.output_is_terminal && colour;
  console.error_colour = console.error_is_terminal && colour;
  console.width = TerminalWidth(console.output_is_terminal ? STDOUT_FILENO : STDERR_FILENO);
  return console;
}

void Print(std::string_view text) {
  pending_output += text;
  if (pending_output.size() >= kOutputBuffer) FlushOutput();
}

bool FlushOutput() {
  if (!WriteAll(STDOUT_FILENO, pending_output)) output_failed = true;
  pending_output.clear();
  return !output_failed;
}

void PrintToError(std::string_view text) {
  FlushOutput();
  WriteAll(STDERR_FILENO, text);
}

std::string TerminalSafe(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const TextUnit unit = FirstTextUnit(text);
    const std::string_view bytes = text.substr(0, unit.bytes);
    text.remove_prefix(unit.bytes);
    if (unit.kind == TextUnit::Kind::kCharacter || bytes == "\n" || bytes == "\t") {
      safe += bytes;
    } else if (unit.kind == TextUnit::Kind::kInvalid || unit.bytes > 1) {
      safe += "\xEF\xBF\xBD";
    } else if (bytes != "\r") {
      // U+2400 to U+2421 picture the control characters of ASCII.
      safe += "\xE2\x90";
      safe += static_cast<char>(bytes == "\x7F" ? 0xA1 : 0x80 + bytes.front());
    }
  }
  return safe;
}

void PrintError(std::string_view message) {
  PrintToError(fmt::format("stoker: error: {}\n", OneLine(message)));
}

void PrintNote(std::string_view message) {
  PrintToError(fmt::format("stoker: {}\n", OneLine(message)));
}

std::string Wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string wrapped;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > 0 && column + 1 + end > width) {
      wrapped += '\n';
      wrapped.append(indent, ' ');
      column = 0;
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

}  // namespace stoker::cli
