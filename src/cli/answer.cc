#include "cli/answer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/status.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sampling_options.h"

namespace stoker::cli {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

}  // namespace

Show ShowFor(const Console& console, bool json) {
  if (json) return Show::kNothing;
  return console.output_is_terminal ? Show::kTerminal : Show::kAnswer;
}

std::string AnswerFormat::Text(const engine::TextDelta& delta) {
  if (show_ == Show::kNothing) return "";
  std::string text;
  if (show_ == Show::kTerminal) text += Part(delta.thinking, true);
  return text + Part(delta.answer, false);
}

std::string AnswerFormat::Part(const std::string& text, bool thinking) {
  if (text.empty()) return "";
  std::string printed;
  if (thinking != thinking_) {
    if (colour_) printed += thinking ? kDim : kPlain;
    // The answer starts on a line of its own.
    if (!at_line_start_) printed += '\n';
    if (!thinking && !any_answer_ && !at_line_start_) printed += '\n';
    thinking_ = thinking;
  }
  any_answer_ = any_answer_ || !thinking;
  const std::string shown = show_ == Show::kTerminal ? TerminalSafe(text) : text;
  if (!shown.empty()) at_line_start_ = shown.back() == '\n';
  return printed + shown;
}

std::string AnswerFormat::End() {
  if (show_ == Show::kNothing) return "";
  std::string text;
  if (thinking_ && colour_) text += kPlain;
  if (!at_line_start_) text += '\n';
  return text;
}

absl::Status CheckRequest(const AnswerRequest& request, const checkpoint::ModelConfig& config,
                          std::size_t context_tokens) {
  if (request.prompt.size() >= context_tokens) {
    return InvalidArgument(
        "the prompt has {} tokens and the context is {}, which leaves no room for an answer; "
        "shorten it or raise --context (this model allows {})",
        request.prompt.size(), context_tokens, config.max_positions);
  }
  const auto unknown = std::ranges::find_if(
      request.prompt, [&config](TokenId token) { return Index(token) >= config.vocab; });
  if (unknown != request.prompt.end()) {
    return InvalidArgument(
        "the prompt has token {}, but the model's vocabulary has {}: its tokenizer is another "
        "model's",
        static_cast<std::int32_t>(*unknown), config.vocab);
  }
  return CheckParams(request.sampling, config.vocab);
}

absl::StatusOr<Answer> StreamAnswer(engine::Engine& engine, engine::Sequence& sequence,
                                    const text::Tokenizer& tokenizer, const AnswerRequest& request,
                                    const Console& console) {
  STOKER_ASSIGN_OR_RETURN(engine::TextStream stream,
                          engine::TextStream::Create(tokenizer, request.text));
  const engine::GenerationRequest generation = {.prompt = request.prompt,
                                                .sampling = request.sampling,
                                                .max_tokens = request.max_tokens.value_or(0),
                                                .stop_tokens = tokenizer.end_tokens(),
                                                .cancel = &InterruptFlag()};
  using Clock = std::chrono::steady_clock;
  Clock::time_point first_token;
  Answer answer;
  AnswerFormat format(request.show, console.colour);
  ProgressBar bar(console, "reading", ProgressUnit::kTokens);
  const auto show = [&](const engine::TextDelta& delta) {
    answer.text += delta;
    Print(format.Text(delta));
    // Nobody reads on: stop, and let the caller say why.
    return FlushOutput();
  };
  const auto take = [&](const engine::SampledToken& token) {
    bar.Finish();
    const Clock::time_point now = Clock::now();
    if (answer.tokens.empty()) first_token = now;
    answer.seconds = std::chrono::duration<double>(now - first_token).count();
    answer.tokens.push_back(token);
    const bool is_end =
        std::ranges::find(generation.stop_tokens, token.token) != generation.stop_tokens.end();
    if (is_end) return true;
    return show(stream.Push(token.token)) && !stream.stopped();
  };
  absl::StatusOr<engine::GenerationStats> stats =
      engine.Generate(sequence, generation, take,
                      [&bar](std::size_t done, std::size_t total) { bar.Update(done, total); });
  bar.Finish();
  if (stats.ok()) show(stream.Flush());
  Print(format.End());
  FlushOutput();
  STOKER_RETURN_IF_ERROR(stats.status());
  answer.stats = *stats;
  answer.ended_thinking = stream.is_thinking();
  return answer;
}

}  // namespace stoker::cli
