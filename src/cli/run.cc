#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/model_config.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/load_options.h"
#include "cli/prompt_input.h"
#include "cli/sampling_options.h"
#include "cli/summary.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace stoker::cli {
namespace {

nlohmann::ordered_json LogprobsJson(const text::Tokenizer& tokenizer,
                                    const std::vector<engine::SampledToken>& tokens) {
  nlohmann::ordered_json list = nlohmann::json::array();
  const auto entry = [&tokenizer](TokenId id, float logprob) {
    return nlohmann::ordered_json{{"id", static_cast<std::int32_t>(id)},
                                  {"token", tokenizer.Decode({&id, 1}, true)},
                                  {"logprob", logprob}};
  };
  for (const engine::SampledToken& token : tokens) {
    nlohmann::ordered_json json = entry(token.token, token.logprob);
    json["top"] = nlohmann::json::array();
    for (const engine::TokenLogprob& rival : token.top_logprobs) {
      json["top"].push_back(entry(rival.token, rival.logprob));
    }
    list.push_back(std::move(json));
  }
  return list;
}

class RunPrompt final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "run",
            .summary = "Answer one prompt and stream the answer.",
            .examples =
                "stoker run MODEL -p \"Why is the sky blue?\"\n"
                "stoker run MODEL < question.txt > answer.txt\n"
                "stoker run MODEL --raw --greedy -n 50 -p \"Once upon a time\""};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "checkpoint folder");
    options.Value("-p,--prompt", "TEXT", prompt_,
                  "the prompt; default, and with -: standard input");
    options.Value("--system", "TEXT", system_, "system message");
    options.Flag("--raw", raw_, "continue the text as it is, without the model's chat template");
    options.Toggle("--thinking,!--no-thinking", thinking_,
                   "let the model think before it answers, or not; default: its template's choice");
    options.Flag("--stats", stats_, "print the summary line even when nobody watches");
    AddSamplingOptions(options, sampling_);
    AddLoadOptions(options, load_);
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& common) const override {
    if (raw_ && (system_ || thinking_)) {
      return InvalidArgument(
          "--raw takes the prompt as it is: --system and --thinking need a chat "
          "template");
    }
    if (sampling_.logprobs && !common.json) {
      return InvalidArgument("--logprobs: they are printed with --json alone");
    }
    STOKER_RETURN_IF_ERROR(CheckSampling(sampling_));
    return CheckLoadOptions(load_);
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    STOKER_ASSIGN_OR_RETURN(const std::string text, ReadPrompt(prompt_, console));
    // What can be wrong with the request shows before the weights are loaded.
    STOKER_ASSIGN_OR_RETURN(const checkpoint::ModelConfig config,
                            checkpoint::LoadModelConfig(model_));
    engine::EngineOptions options = ToEngineOptions(load_, common);
    STOKER_ASSIGN_OR_RETURN(options.context_tokens, ContextTokens(load_, config));
    STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<const text::Tokenizer> tokenizer,
                            text::Tokenizer::Load(model_));
    STOKER_ASSIGN_OR_RETURN(const PromptTokens prompt, Encode(text, *tokenizer));
    STOKER_ASSIGN_OR_RETURN(const SamplingOptions recommended, ReadRecommendedSampling(model_));
    AnswerRequest request = {.prompt = prompt.ids,
                             .sampling = {},
                             .max_tokens = sampling_.max_tokens,
                             .text = {.stops = sampling_.stops,
                                      .splits_thinking = !raw_,
                                      .starts_thinking = prompt.starts_thinking},
                             .show = ShowFor(console, common.json)};
    STOKER_ASSIGN_OR_RETURN(
        request.sampling,
        ResolveSampling(sampling_, recommended, prompt.starts_thinking, RandomSeed()));
    STOKER_RETURN_IF_ERROR(CheckRequest(request, config, options.context_tokens));
    STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Engine> engine,
                            LoadEngine(model_, options, console));
    engine::Sequence sequence = engine->NewSequence();
    STOKER_ASSIGN_OR_RETURN(const Answer answer,
                            StreamAnswer(*engine, sequence, *tokenizer, request, console));
    Report(common, console, *tokenizer, request, answer, *engine);
    if (answer.stats.finish == engine::FinishReason::kCancelled) return Cancelled("stopped");
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] absl::StatusOr<PromptTokens> Encode(const std::string& text,
                                                    const text::Tokenizer& tokenizer) const {
    if (raw_) {
      STOKER_ASSIGN_OR_RETURN(std::vector<TokenId> ids, tokenizer.Encode(text));
      return PromptTokens{.ids = std::move(ids), .starts_thinking = false};
    }
    STOKER_ASSIGN_OR_RETURN(Conversation conversation, Conversation::Open(model_, thinking_));
    if (system_) conversation.AddSystem(*system_);
    conversation.AddUser(text);
    return conversation.Prompt(tokenizer);
  }

  void Report(const CommonOptions& common, const Console& console, const text::Tokenizer& tokenizer,
              const AnswerRequest& request, const Answer& answer, engine::Engine& engine) const {
    const bool wants_line = stats_ || (console.output_is_terminal && console.error_is_terminal);
    Summary summary = {.stats = answer.stats,
                       .answer_seconds = answer.seconds,
                       .load_seconds = engine.load_seconds(),
                       .peak_bytes_per_s = std::nullopt};
    if (stats_ || (wants_line && !common.json && !InterruptFlag().load())) {
      summary.peak_bytes_per_s = QuickPeak(engine);
    }
    if (common.json) {
      Print(Json(tokenizer, request, answer, summary) + "\n");
      return;
    }
    if (request.show == Show::kAnswer && answer.ended_thinking) {
      PrintNote(
          "the answer ended inside its thinking, which is shown on a terminal only; raise "
          "--max-tokens or use --no-thinking");
    }
    if (!wants_line) return;
    const std::string line = SummaryLine(summary) + "\n";
    PrintToError(console.error_colour ? "\x1b[2m" + line + "\x1b[0m" : line);
  }

  static std::string Json(const text::Tokenizer& tokenizer, const AnswerRequest& request,
                          const Answer& answer, const Summary& summary) {
    nlohmann::ordered_json json = {{"text", answer.text.answer},
                                   {"thinking", answer.text.thinking},
                                   {"finish_reason", Name(answer.stats.finish)},
                                   {"token_ids", nlohmann::json::array()},
                                   {"seed", request.sampling.seed},
                                   {"stats", SummaryJson(summary)}};
    for (const engine::SampledToken& token : answer.tokens) {
      json["token_ids"].push_back(static_cast<std::int32_t>(token.token));
    }
    if (request.sampling.top_logprobs >= 0) {
      json["logprobs"] = LogprobsJson(tokenizer, answer.tokens);
    }
    return DumpJson(json);
  }

  std::string model_;
  std::optional<std::string> prompt_;
  std::optional<std::string> system_;
  std::optional<bool> thinking_;
  bool raw_ = false;
  bool stats_ = false;
  SamplingOptions sampling_;
  LoadOptions load_;
};

}  // namespace

std::unique_ptr<Command> NewRunCommand() {
  return std::make_unique<RunPrompt>();
}

}  // namespace stoker::cli
