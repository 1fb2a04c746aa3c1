#include "cli/prompt_input.h"

#include <utility>

#include "base/status.h"
#include "cli/standard_input.h"
#include "text/utf8.h"

namespace stoker::cli {
namespace {

absl::StatusOr<std::string> ReadStandardInput() {
  StandardInput input;
  std::string text;
  char buffer[65536];
  for (;;) {
    STOKER_ASSIGN_OR_RETURN(const std::size_t count, input.Read(buffer));
    if (count == 0) break;
    text.append(buffer, count);
    if (text.size() > kLongestInput) {
      return InvalidArgument("standard input has more than {} MiB, too much for a prompt",
                             kLongestInput >> 20);
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

absl::Status CheckPrompt(const std::string& text) {
  if (text.empty()) return InvalidArgument("the prompt is empty");
  if (const auto offset = text::FindInvalidUtf8(text)) {
    return InvalidArgument("the prompt is not UTF-8 text: byte {} begins no character", *offset);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadPrompt(const std::optional<std::string>& given,
                                       const Console& console) {
  const bool from_input = !given || *given == "-";
  if (!given && console.input_is_terminal) {
    return InvalidArgument("no prompt: use -p TEXT, or pipe the text in");
  }
  std::string text;
  if (from_input) {
    STOKER_ASSIGN_OR_RETURN(text, ReadStandardInput());
  } else {
    text = *given;
  }
  STOKER_RETURN_IF_ERROR(CheckPrompt(text));
  return text;
}

}  // namespace stoker::cli
