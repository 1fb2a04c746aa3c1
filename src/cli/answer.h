#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "checkpoint/model_config.h"
#include "cli/console.h"
#include "engine/engine.h"
#include "engine/text_stream.h"
#include "text/tokenizer.h"

namespace stoker::cli {

/// How an answer appears while it comes.
enum class Show {
  kNothing,   ///< --json: it is printed when it is whole
  kAnswer,    ///< a pipe: what the model says, without its thinking
  kTerminal,  ///< a person: thinking too, dimmed where there is colour
};

/// What a terminal, a pipe or --json calls for. Pure.
Show ShowFor(const Console& console, bool json);

/// What to print for a piece of an answer; keeps track of what was printed before. Pure.
class AnswerFormat {
 public:
  AnswerFormat(Show show, bool colour) : show_(show), colour_(colour) {}

  /// A piece as it goes to standard output, colours and line breaks around it included.
  std::string Text(const engine::TextDelta& delta);
  /// What ends the answer: colour off and a newline unless the text ended in one.
  std::string End();

 private:
  std::string Part(const std::string& text, bool thinking);

  Show show_;
  bool colour_;
  bool thinking_ = false;
  bool any_answer_ = false;
  bool at_line_start_ = true;
};

struct AnswerRequest {
  std::vector<TokenId> prompt;
  engine::SamplingParams sampling;
  std::optional<std::size_t> max_tokens;
  engine::TextStreamOptions text;
  Show show = Show::kAnswer;
};

struct Answer {
  engine::TextDelta text;
  std::vector<engine::SampledToken> tokens;
  engine::GenerationStats stats;
  double seconds = 0.0;         ///< from the first token drawn to the last
  bool ended_thinking = false;  ///< the answer ended inside its thinking
};

/// Whether a model loaded for `context_tokens` tokens can answer the request. Errors:
/// kInvalidArgument saying what to change. Pure.
absl::Status CheckRequest(const AnswerRequest& request, const checkpoint::ModelConfig& config,
                          std::size_t context_tokens);

/// Generates and prints an answer. An interrupt ends it: finish is then kCancelled.
/// Errors: as Engine::Generate.
absl::StatusOr<Answer> StreamAnswer(engine::Engine& engine, engine::Sequence& sequence,
                                    const text::Tokenizer& tokenizer, const AnswerRequest& request,
                                    const Console& console);

}  // namespace stoker::cli
