#include "text/regex.h"

#include <array>
#include <cstdint>
#include <limits>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/status.h"

namespace stoker::text {
namespace {

// Published patterns do about 3 to 10 steps of work a byte. A step takes some nanoseconds.
constexpr std::uint64_t kMostWorkPerByte = 256;
constexpr std::uint64_t kMostWorkAtFirst = 1'000'000;
constexpr std::uint32_t kHeapLimitKib = 64 * 1024;
constexpr std::size_t kJitStackMaxBytes = std::size_t{64} << 20U;
constexpr std::size_t kLongestPatternBytes = 64 * 1024;

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  std::string text;
  for (const PCRE2_UCHAR c : buffer) {
    if (c == 0) break;
    text += static_cast<char>(c);
  }
  return text;
}

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using CodePtr = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using CompileContextPtr =
    std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchDataPtr = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using MatchContextPtr = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using JitStackPtr = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

PCRE2_SPTR Units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Regex::Code {
  CodePtr code;
  bool has_jit = false;
};

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern, Syntax syntax) {
  const CompileContextPtr context(pcre2_compile_context_create(nullptr));
  STOKER_CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(context.get(), kLongestPatternBytes);
  // Callouts are where the work is counted.
  const std::uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT |
                                (syntax == Syntax::kLiteral ? PCRE2_LITERAL : PCRE2_UCP);
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  auto code = std::make_shared<Code>();
  code->code.reset(
      pcre2_compile(Units(pattern), pattern.size(), options, &error, &error_offset, context.get()));
  if (code->code == nullptr) {
    return InvalidArgument("regular expression, at byte {}: {}", error_offset, ErrorText(error));
  }
  // Without machine code (a hardened kernel, an unusual processor) matching is only slower.
  code->has_jit = pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(code));
}

struct Matcher::State {
  // PCRE2's own limit of steps holds for one match and does not count the characters that a repeat
  // runs over. So this counts each item of the pattern and the way to it from the last one.
  static int CountWork(pcre2_callout_block* block, void* data) {
    State& state = *static_cast<State*>(data);
    const std::size_t at = block->current_position;
    const std::size_t way =
        at > state.last_position ? at - state.last_position : state.last_position - at;
    state.last_position = at;
    state.work += 1 + way;
    return state.work > state.most_work ? PCRE2_ERROR_MATCHLIMIT : 0;
  }

  std::shared_ptr<const Regex::Code> code;
  MatchDataPtr match;
  MatchContextPtr context;
  JitStackPtr jit_stack;  // only once the machine stack proved too small
  std::uint64_t work = 0;
  std::uint64_t most_work = kMostWorkAtFirst;
  std::size_t last_position = 0;
};

Matcher::Matcher(const Regex& regex) : state_(std::make_unique<State>()) {
  state_->code = regex.code_;
  state_->match.reset(pcre2_match_data_create(1, nullptr));
  state_->context.reset(pcre2_match_context_create(nullptr));
  STOKER_CHECK(state_->match != nullptr && state_->context != nullptr);
  pcre2_set_match_limit(state_->context.get(), std::numeric_limits<std::uint32_t>::max());
  pcre2_set_callout(state_->context.get(), &State::CountWork, state_.get());
  pcre2_set_heap_limit(state_->context.get(), kHeapLimitKib);
}

Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

void Matcher::AllowFor(std::size_t bytes) {
  state_->most_work += kMostWorkPerByte * bytes;
}

absl::StatusOr<std::optional<ByteSpan>> Matcher::Find(std::string_view subject,
                                                      std::size_t offset) {
  const auto match = [&] {
    state_->last_position = offset;
    auto* const run = state_->code->has_jit ? &pcre2_jit_match : &pcre2_match;
    return run(state_->code->code.get(), Units(subject), subject.size(), offset, PCRE2_NO_UTF_CHECK,
               state_->match.get(), state_->context.get());
  };
  int rc = match();
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT && state_->jit_stack == nullptr) {
    state_->jit_stack.reset(
        pcre2_jit_stack_create(std::size_t{64} << 10U, kJitStackMaxBytes, nullptr));
    pcre2_jit_stack_assign(state_->context.get(), nullptr, state_->jit_stack.get());
    rc = match();
  }
  if (rc == PCRE2_ERROR_NOMATCH) return std::nullopt;
  // 0 says that groups did not fit the one-pair match data; the whole match always does.
  if (rc < 0) {
    return ResourceExhausted("text at byte {} cannot be split by the tokenizer's pattern: {}",
                             offset, ErrorText(rc));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state_->match.get());
  // \K inside a look-ahead can put the start behind the end; no sound pattern does.
  if (ends[0] > ends[1]) return ResourceExhausted("the tokenizer's pattern matches backwards");
  return ByteSpan{ends[0], ends[1]};
}

}  // namespace stoker::text
