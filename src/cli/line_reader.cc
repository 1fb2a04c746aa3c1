#include "cli/line_reader.h"

#include <histedit.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/interrupt.h"
#include "cli/standard_input.h"

namespace stoker::cli {
namespace {

constexpr int kHistoryLines = 1000;

char first_prompt[] = "> ";
char more_prompt[] = ". ";
// libedit asks a plain function for the prompt.
bool continues = false;

// libedit's own reader looks for a signal only while it sleeps in read(), and would lose one that
// comes between two characters.
int ReadCharacter(EditLine* editor, wchar_t* character) {
  void* data = nullptr;
  el_get(editor, EL_CLIENTDATA, &data);
  auto& input = *static_cast<StandardInput*>(data);
  std::mbstate_t state = {};
  for (;;) {
    char byte = 0;
    const absl::StatusOr<std::size_t> count = input.Read({&byte, 1});
    if (!count.ok()) return -1;
    if (*count == 0) return 0;
    const std::size_t length = std::mbrtowc(character, &byte, 1, &state);
    constexpr auto kIncomplete = static_cast<std::size_t>(-2);
    if (length <= 1) return 1;
    if (length != kIncomplete) state = {};  // not UTF-8: the byte is dropped
  }
}

char* Prompt(EditLine*) {
  return continues ? more_prompt : first_prompt;
}

class EditedInput final : public LineReader {
 public:
  explicit EditedInput(const std::filesystem::path& history_file)
      : history_file_(history_file), history_(history_init()) {
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

  LineEvent Read(std::string& line) override {
    line.clear();
    continues = false;
    for (;;) {
      FlushOutput();
      el_resize(editor_);
      int count = 0;
      const char* text = el_gets(editor_, &count);
      if (TakeInterrupt()) {
        el_reset(editor_);
        PrintToError("\n");
        return LineEvent::kInterrupt;
      }
      if (text == nullptr || count <= 0) {
        PrintToError("\n");
        return LineEvent::kEnd;
      }
      line.append(text, static_cast<std::size_t>(count));
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
  StandardInput input_;
  std::filesystem::path history_file_;
  History* history_;
  EditLine* editor_ = nullptr;
};

class PipedInput final : public LineReader {
 public:
  LineEvent Read(std::string& line) override {
    line.clear();
    for (;;) {
      const LineEvent event = ReadPart(line);
      if (event != LineEvent::kLine) return event;
      if (!line.ends_with('\\')) return event;
      line.back() = '\n';
    }
  }

 private:
  // Appends up to the next newline, or to the end of the input where it ends without one.
  LineEvent ReadPart(std::string& line) {
    for (;;) {
      const std::size_t newline = buffer_.find('\n');
      if (newline != std::string::npos) {
        line += buffer_.substr(0, newline);
        buffer_.erase(0, newline + 1);
        if (line.ends_with('\r')) line.pop_back();
        return LineEvent::kLine;
      }
      char bytes[4096];
      const absl::StatusOr<std::size_t> count = input_.Read(bytes);
      if (absl::IsCancelled(count.status())) {
        TakeInterrupt();
        return LineEvent::kInterrupt;
      }
      if (count.value_or(0) > 0) {
        buffer_.append(bytes, *count);
      } else {
        line += buffer_;
        return std::exchange(buffer_, {}).empty() ? LineEvent::kEnd : LineEvent::kLine;
      }
    }
  }

  StandardInput input_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<LineReader> LineReader::New(const Console& console,
                                            const std::filesystem::path& history_file) {
  if (console.input_is_terminal && console.output_is_terminal) {
    return std::make_unique<EditedInput>(history_file);
  }
  return std::make_unique<PipedInput>();
}

std::filesystem::path StateFile(const std::string& name) {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "stoker" / name;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return std::filesystem::path(home) / ".local/state/stoker" / name;
}

}  // namespace stoker::cli
