#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/model_config.h"
#include "cli/answer.h"
#include "cli/chat_line.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/load_options.h"
#include "cli/prompt_input.h"
#include "cli/sampling_options.h"
#include "cli/summary.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace stoker::cli {
namespace {

// Interrupts that nobody takes note of before the program ends at once.
constexpr int kChatPatience = 3;

// One conversation with a loaded model.
class ChatSession {
 public:
  struct Parts {
    std::unique_ptr<const text::Tokenizer> tokenizer;
    std::unique_ptr<engine::Engine> engine;
    Conversation conversation;
    SamplingOptions sampling;
    SamplingOptions recommended;
    bool json = false;
  };

  ChatSession(Parts parts, const Console& console)
      : parts_(std::move(parts)), console_(console), sequence_(parts_.engine->NewSequence()) {}

  void Reset() {
    parts_.conversation.Reset();
    sequence_.Truncate(0);
  }

  /// Answers a message. Where that fails the conversation is as before.
  absl::Status Say(const std::string& message) {
    STOKER_RETURN_IF_ERROR(CheckPrompt(message));
    parts_.conversation.AddUser(message);
    const absl::StatusOr<Answer> answer = Reply();
    if (!answer.ok()) {
      parts_.conversation.RemoveLast();
      return answer.status();
    }
    if (answer->tokens.empty()) {  // stopped before it began
      parts_.conversation.RemoveLast();
      return absl::OkStatus();
    }
    parts_.conversation.AddAnswer(answer->text.answer, answer->text.thinking);
    last_ = Summarise(*answer);
    if (parts_.json) {
      const nlohmann::ordered_json json = {{"text", answer->text.answer},
                                           {"thinking", answer->text.thinking},
                                           {"finish_reason", Name(answer->stats.finish)},
                                           {"stats", SummaryJson(*last_)}};
      Print(DumpJson(json) + "\n");
    }
    if (answer->stats.finish == engine::FinishReason::kLength) {
      PrintNote("the answer was cut off: --max-tokens or the context is used up");
    }
    return absl::OkStatus();
  }

  /// The text of /stats.
  std::string Stats() {
    const std::size_t held = sequence_.cached_tokens().size();
    std::string text =
        fmt::format("{} of {} tokens of context held\n", held, parts_.engine->context_tokens());
    if (!last_) return text;
    if (!peak_) peak_ = QuickPeak(*parts_.engine);
    last_->peak_bytes_per_s = peak_;
    return text + SummaryLine(*last_) + "\n";
  }

 private:
  absl::StatusOr<Answer> Reply() {
    STOKER_ASSIGN_OR_RETURN(PromptTokens prompt, parts_.conversation.Prompt(*parts_.tokenizer));
    AnswerRequest request = {
        .prompt = std::move(prompt.ids),
        .sampling = {},
        .max_tokens = parts_.sampling.max_tokens,
        .text = {.stops = parts_.sampling.stops, .starts_thinking = prompt.starts_thinking},
        .show = ShowFor(console_, parts_.json)};
    STOKER_ASSIGN_OR_RETURN(
        request.sampling,
        ResolveSampling(parts_.sampling, parts_.recommended, prompt.starts_thinking, RandomSeed()));
    STOKER_RETURN_IF_ERROR(
        CheckRequest(request, parts_.engine->config(), parts_.engine->context_tokens()));
    return StreamAnswer(*parts_.engine, sequence_, *parts_.tokenizer, request, console_);
  }

  [[nodiscard]] Summary Summarise(const Answer& answer) const {
    return {.stats = answer.stats,
            .answer_seconds = answer.seconds,
            .load_seconds = parts_.engine->load_seconds(),
            .peak_bytes_per_s = peak_};
  }

  Parts parts_;
  Console console_;
  engine::Sequence sequence_;
  std::optional<Summary> last_;
  std::optional<double> peak_;
};

class Chat final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {
        .name = "chat",
        .summary = "Talk with a model; also line by line from a pipe.",
        .examples = "stoker chat MODEL\nstoker chat MODEL --system \"Answer in one sentence.\""};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "checkpoint folder");
    options.Value("--system", "TEXT", system_, "system message");
    options.Toggle("--thinking,!--no-thinking", thinking_,
                   "let the model think before it answers, or not; default: its template's choice");
    AddSamplingOptions(options, sampling_);
    AddLoadOptions(options, load_);
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (sampling_.logprobs) return InvalidArgument("--logprobs: use it with stoker run");
    STOKER_RETURN_IF_ERROR(CheckSampling(sampling_));
    return CheckLoadOptions(load_);
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    // What can be wrong with the options shows before the weights are loaded.
    STOKER_ASSIGN_OR_RETURN(const checkpoint::ModelConfig config,
                            checkpoint::LoadModelConfig(model_));
    engine::EngineOptions options = ToEngineOptions(load_, common);
    STOKER_ASSIGN_OR_RETURN(options.context_tokens, ContextTokens(load_, config));
    STOKER_ASSIGN_OR_RETURN(std::unique_ptr<const text::Tokenizer> tokenizer,
                            text::Tokenizer::Load(model_));
    STOKER_ASSIGN_OR_RETURN(Conversation conversation, Conversation::Open(model_, thinking_));
    if (system_) conversation.AddSystem(*system_);
    STOKER_ASSIGN_OR_RETURN(SamplingOptions recommended, ReadRecommendedSampling(model_));
    STOKER_ASSIGN_OR_RETURN(const engine::SamplingParams params,
                            ResolveSampling(sampling_, recommended, false, 0));
    STOKER_RETURN_IF_ERROR(CheckParams(params, config.vocab));
    STOKER_ASSIGN_OR_RETURN(std::unique_ptr<engine::Engine> engine,
                            LoadEngine(model_, options, console));
    ChatSession session({.tokenizer = std::move(tokenizer),
                         .engine = std::move(engine),
                         .conversation = std::move(conversation),
                         .sampling = sampling_,
                         .recommended = std::move(recommended),
                         .json = common.json},
                        console);
    SetPatience(kChatPatience);
    return Loop(session, console);
  }

 private:
  static absl::Status Loop(ChatSession& session, const Console& console) {
    const bool interactive = console.input_is_terminal;
    const std::unique_ptr<LineReader> reader = LineReader::New(console, StateFile("chat_history"));
    if (interactive) PrintNote("type a message; /help lists commands, Ctrl-D leaves");
    std::string text;
    for (;;) {
      STOKER_ASSIGN_OR_RETURN(const LineEvent event, reader->Read(text));
      switch (event) {
        case LineEvent::kEnd:
          return absl::OkStatus();
        case LineEvent::kInterrupt:
          if (!interactive || IsToldToLeave()) return Cancelled("stopped");
          PrintNote("use /exit or Ctrl-D to leave");
          continue;
        case LineEvent::kLine:
          break;
      }
      const ChatLine line = ParseChatLine(text);
      if (line.kind == ChatLine::Kind::kExit) return absl::OkStatus();
      const absl::Status status = Obey(line, session);
      const bool interrupted = TakeInterrupt();
      if (IsToldToLeave()) return Cancelled("stopped");
      if (!interactive) {
        STOKER_RETURN_IF_ERROR(status);
        if (interrupted) return Cancelled("stopped");
      } else if (!status.ok()) {
        PrintError(Message(status));
      }
    }
  }

  static absl::Status Obey(const ChatLine& line, ChatSession& session) {
    switch (line.kind) {
      case ChatLine::Kind::kMessage:
        return session.Say(line.text);
      case ChatLine::Kind::kReset:
        session.Reset();
        PrintNote("the conversation is forgotten");
        return absl::OkStatus();
      case ChatLine::Kind::kStats:
        PrintToError(session.Stats());
        return absl::OkStatus();
      case ChatLine::Kind::kHelp:
        PrintToError(ChatHelp());
        return absl::OkStatus();
      case ChatLine::Kind::kUnknown:
        return InvalidArgument("{}", line.text);
      case ChatLine::Kind::kNothing:
      case ChatLine::Kind::kExit:
        break;
    }
    return absl::OkStatus();
  }

  std::string model_;
  std::optional<std::string> system_;
  std::optional<bool> thinking_;
  SamplingOptions sampling_;
  LoadOptions load_;
};

}  // namespace

std::unique_ptr<Command> NewChatCommand() {
  return std::make_unique<Chat>();
}

}  // namespace stoker::cli
