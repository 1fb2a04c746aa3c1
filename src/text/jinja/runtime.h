#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/civil_time.h"
#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// What a render may use before it ends with an error, so that no template hangs the process or
/// eats its memory.
struct RenderLimits {
  std::size_t memory_bytes = std::size_t{512} << 20;  ///< all strings and containers, output too
  std::uint64_t steps = 100'000'000;  ///< evaluated nodes, plus one per 64 bytes of text handled
  int depth = 2000;                   ///< nodes being evaluated at once, macro calls included
};

/// The names of one block of the template.
struct Scope {
  Scope* parent = nullptr;
  bool captured = false;  ///< a macro refers to it: it must live as long as the render
  std::vector<std::pair<std::string_view, Value>> names;

  [[nodiscard]] const Value* Find(std::string_view name) const;
};

/// The state of one render: memory, limits, scopes and where output goes. Used by one thread.
class Runtime {
 public:
  /// `variables` are the template's inputs; `now` is the clock of strftime_now, if there is one.
  Runtime(const RenderLimits& limits, std::optional<CivilTime> now);

  Heap& heap() { return heap_; }
  Dict& variables() { return variables_; }
  [[nodiscard]] const std::optional<CivilTime>& now() const { return now_; }
  [[nodiscard]] int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  /// Counts work: one step, and more for long texts. Fails with kResourceExhausted at the limit.
  void Step() {
    if (++steps_ > limits_.steps) OutOfSteps();
  }
  /// For bytes that are copied or compared; reading characters one by one costs about 8 times that.
  void StepBytes(std::size_t bytes) {
    steps_ += bytes / 64;
    Step();
  }

  [[nodiscard]] Scope& scope() { return *scope_; }
  /// The value of a name: the scopes from the innermost, then the inputs, then the globals.
  Value Lookup(std::string_view name);
  /// Gives a name of the current scope a value.
  void Assign(std::string_view name, const Value& value);

  void Write(std::string_view text, bool trusted);
  void Write(const OriginText& text);
  [[nodiscard]] const OriginText& output() const { return *output_; }

  /// Runs `body` and returns what it wrote.
  template <typename Body>
  OriginText Capture(const Body& body) {
    OriginText captured;
    OriginText* const outer = std::exchange(output_, &captured);
    body();
    output_ = outer;  // a Failure ends the render, so nobody misses the outer output then
    return captured;
  }

 private:
  friend class ScopeGuard;
  friend class DepthGuard;
  // Counts the work of looking through so many names.
  void StepNames(std::size_t count) { StepBytes(8 * count); }
  [[noreturn]] void OutOfSteps() const;
  [[noreturn]] void TooDeep() const;

  RenderLimits limits_;
  std::optional<CivilTime> now_;
  Heap heap_;
  Dict variables_;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  int line_ = 0;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  Scope root_;
  Scope* scope_ = &root_;
  OriginText main_output_;
  OriginText* output_ = &main_output_;
};

/// Opens a scope inside `parent` and makes it the current one; closes it when it dies.
class ScopeGuard {
 public:
  ScopeGuard(Runtime& runtime, Scope& parent);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Runtime& runtime_;
  Scope* outer_;
};

/// Counts nested evaluation; fails with kResourceExhausted where it would endanger the stack.
class DepthGuard {
 public:
  explicit DepthGuard(Runtime& runtime) : runtime_(runtime) {
    if (++runtime_.depth_ > runtime_.limits_.depth) runtime_.TooDeep();
  }
  ~DepthGuard() { --runtime_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Runtime& runtime_;
};

}  // namespace stoker::text::jinja
