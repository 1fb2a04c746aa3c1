#include "engine/text_stream.h"

#include <utility>

#include "base/status.h"

namespace stoker::engine {

absl::StatusOr<TextStream> TextStream::Create(const text::Tokenizer& tokenizer,
                                              const TextStreamOptions& options) {
  STOKER_ASSIGN_OR_RETURN(text::StopMatcher stop, text::StopMatcher::Create(options.stops));
  TextStream stream(tokenizer, std::move(stop), options.splits_thinking && options.starts_thinking);
  if (options.splits_thinking) {
    stream.think_begin_ = tokenizer.FindSpecial("<think>");
    stream.think_end_ = tokenizer.FindSpecial("</think>");
    stream.tool_calls_begin_ = tokenizer.FindSpecial("<|tool_calls_section_begin|>");
  }
  return stream;
}

TextDelta TextStream::Push(TokenId token) {
  if (stopped()) return {};
  if (token == think_begin_ || token == think_end_) {
    const TextDelta rest = Route(detokenizer_.Flush());
    thinking_ = token == think_begin_;
    return rest;
  }
  if (thinking_ && token == tool_calls_begin_) {
    TextDelta rest = Route(detokenizer_.Flush());
    thinking_ = false;
    return rest += Route(detokenizer_.Push(token));
  }
  return Route(detokenizer_.Push(token));
}

TextDelta TextStream::Flush() {
  if (stopped()) return {};
  TextDelta rest = Route(detokenizer_.Flush());
  if (!stopped()) rest.answer += stop_.Flush();
  return rest;
}

TextDelta TextStream::Route(std::string_view text) {
  if (thinking_) return {.thinking = std::string(text), .answer = {}};
  return {.thinking = {}, .answer = stop_.Push(text).text};
}

}  // namespace stoker::engine
