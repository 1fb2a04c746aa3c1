#include "cli/line_reader.h"

#include <histedit.h>
#include <unistd.h>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <system_error>

#include "base/status.h"
#include "cli/interrupt.h"
#include "cli/prompt_input.h"
#include "cli/standard_input.h"

namespace stoker::cli {
namespace {

constexpr int kHistoryLines = 1000;
constexpr std::uintmax_t kLargestHistory = std::uintmax_t{16} << 20;

char first_prompt[] = "> ";
char more_prompt[] = ". ";
// libedit asks a plain function for the prompt.
bool continues = false;

// What the line editor reads from, and what went wrong with it.
struct EditorInput {
  StandardInput input;
  absl::Status status;
};

// libedit's own reader looks for a signal only while it sleeps in read(), and would lose one that
// comes between two characters.
int ReadCharacter(EditLine* editor, wchar_t* character) {
  void* data = nullptr;
  el_get(editor, EL_CLIENTDATA, &data);
  auto& source = *static_cast<EditorInput*>(data);
  std::mbstate_t state = {};
  for (;;) {
    char byte = 0;
    const absl::StatusOr<std::size_t> count = source.input.Read({&byte, 1});
    if (!count.ok()) {
      source.status = count.status();
      return -1;
    }
    if (*count == 0) return 0;
    const std::size_t length = std::mbrtowc(character, &byte, 1, &state);
    constexpr auto kIncomplete = static_cast<std::size_t>(-2);
    if (length <= 1) return 1;
    if (length != kIncomplete) state = {};  // not UTF-8: the byte is dropped
  }
}

absl::Status CheckLength(const std::string& line) {
  if (line.size() <= kLongestInput) return absl::OkStatus();
  return InvalidArgument("a line has more than {} MiB, too much for a prompt", kLongestInput >> 20);
}

char* Prompt(EditLine*) {
  return continues ? more_prompt : first_prompt;
}

class EditedInput final : public LineReader {
 public:
  explicit EditedInput(const std::filesystem::path& history_file)
      : history_file_(IsFitForHistory(history_file) ? history_file : ""), history_(history_init()) {
    // Wide characters need a UTF-8 locale; only this category, so that numbers stay as they are.
    const char* locale = std::setlocale(LC_CTYPE, "");
    if (locale == nullptr || std::string_view(locale) == "C") std::setlocale(LC_CTYPE, "C.UTF-8");
    editor_ = el_init("stoker", stdin, stdout, stderr);
    el_set(editor_, EL_PROMPT, &Prompt);
    el_set(editor_, EL_CLIENTDATA, &input_);
    el_set(editor_, EL_GETCFN, &ReadCharacter);
    el_set(editor_, EL_EDITOR, "emacs");
    // A Ctrl-D typed before the editor takes the terminal arrives as a NUL.
    el_set(editor_, EL_BIND, "^@", "em-delete-or-list", nullptr);
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_file_.empty()) history(history_, &event, H_LOAD, history_file_.c_str());
    el_set(editor_, EL_HIST, history, history_);
    el_source(editor_, nullptr);  // the user's key bindings
  }

  ~EditedInput() override {
    HistEvent event;
    if (!history_file_.empty()) {
      std::error_code error;  // a history that cannot be kept is no reason to complain at the end
      std::filesystem::create_directories(history_file_.parent_path(), error);
      history(history_, &event, H_SAVE, history_file_.c_str());
    }
    history_end(history_);
    el_end(editor_);
  }

  EditedInput(const EditedInput&) = delete;
  EditedInput& operator=(const EditedInput&) = delete;

  absl::StatusOr<LineEvent> Read(std::string& line) override {
    line.clear();
    continues = false;
    for (;;) {
      FlushOutput();
      el_resize(editor_);
      int count = 0;
      const char* text = el_gets(editor_, &count);
      if (TakeInterrupt()) {
        el_reset(editor_);
        input_.status = absl::OkStatus();
        PrintToError("\n");
        return LineEvent::kInterrupt;
      }
      STOKER_RETURN_IF_ERROR(input_.status);
      if (text == nullptr || count <= 0) {
        PrintToError("\n");
        return LineEvent::kEnd;
      }
      line.append(text, static_cast<std::size_t>(count));
      STOKER_RETURN_IF_ERROR(CheckLength(line));
      while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
      continues = line.ends_with('\\');
      if (!continues) break;
      line.back() = '\n';
    }
    HistEvent event;
    if (!line.empty()) history(history_, &event, H_ENTER, line.c_str());
    return LineEvent::kLine;
  }

 private:
  EditorInput input_;
  std::filesystem::path history_file_;
  History* history_;
  EditLine* editor_ = nullptr;
};

class PlainInput final : public LineReader {
 public:
  explicit PlainInput(int fd) : input_(fd) {}

  absl::StatusOr<LineEvent> Read(std::string& line) override {
    line.clear();
    for (bool continued = false;; continued = true) {
      STOKER_ASSIGN_OR_RETURN(const LineEvent event, ReadPart(line));
      if (event == LineEvent::kEnd && continued) {
        line.pop_back();  // the newline that waited for more
        return LineEvent::kLine;
      }
      if (event != LineEvent::kLine || !line.ends_with('\\')) return event;
      line.back() = '\n';
    }
  }

 private:
  // Appends up to the next newline, or to the end of the input where it ends without one.
  absl::StatusOr<LineEvent> ReadPart(std::string& line) {
    const std::size_t before = line.size();
    for (;;) {
      const std::size_t newline = unread_.find('\n');
      line += unread_.substr(0, newline);
      STOKER_RETURN_IF_ERROR(CheckLength(line));
      if (newline != std::string_view::npos) {
        unread_.remove_prefix(newline + 1);
        if (line.ends_with('\r')) line.pop_back();
        return LineEvent::kLine;
      }
      const absl::StatusOr<std::size_t> count = input_.Read(bytes_);
      if (absl::IsCancelled(count.status())) {
        TakeInterrupt();
        return LineEvent::kInterrupt;
      }
      STOKER_RETURN_IF_ERROR(count.status());
      unread_ = std::string_view(bytes_, *count);
      if (*count == 0) return line.size() == before ? LineEvent::kEnd : LineEvent::kLine;
    }
  }

  StandardInput input_;
  char bytes_[65536];
  std::string_view unread_;  // of bytes_
};

}  // namespace

std::unique_ptr<LineReader> LineReader::New(const Console& console,
                                            const std::filesystem::path& history_file) {
  if (console.input_is_terminal && console.output_is_terminal) {
    return std::make_unique<EditedInput>(history_file);
  }
  return Plain(STDIN_FILENO);
}

std::unique_ptr<LineReader> LineReader::Plain(int fd) {
  return std::make_unique<PlainInput>(fd);
}

bool IsFitForHistory(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  return std::filesystem::is_regular_file(status) &&
         std::filesystem::file_size(file, error) <= kLargestHistory;
}

std::filesystem::path StateFile(const std::string& name) {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "stoker" / name;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return std::filesystem::path(home) / ".local/state/stoker" / name;
}

}  // namespace stoker::cli
