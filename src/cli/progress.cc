#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "fmt/format.h"

namespace stoker::cli {
namespace {

constexpr auto kFirstDraw = std::chrono::milliseconds(250);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kWidestBar = 30;

std::string Rate(const ProgressState& state) {
  if (state.seconds <= 0.0) return "";
  const double per_s = static_cast<double>(state.done) / state.seconds;
  if (state.unit == ProgressUnit::kTokens) return fmt::format("{:.0f} tok/s", per_s);
  return FormatBytes(static_cast<std::uint64_t>(per_s)) + "/s";
}

std::string TimeLeft(const ProgressState& state) {
  if (state.done == 0 || state.done >= state.total) return "";
  const double seconds = state.seconds * static_cast<double>(state.total - state.done) /
                         static_cast<double>(state.done);
  if (seconds < 60.0) return fmt::format("{:.0f} s left", seconds);
  return fmt::format("{:.0f} min left", seconds / 60.0);
}

}  // namespace

std::string RenderProgress(const ProgressState& state, std::size_t width) {
  const double share =
      state.total == 0
          ? 0.0
          : std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  std::string tail = fmt::format(" {:3.0f}%", share * 100.0);
  for (const std::string& part : {Rate(state), TimeLeft(state)}) {
    if (!part.empty()) tail += "  " + part;
  }
  std::string line(state.label);
  const std::size_t used = line.size() + 3 + tail.size();  // a space and the brackets
  if (used + 4 <= width) {
    const std::size_t cells = std::min(kWidestBar, width - used);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string bar(full, '=');
    if (full < cells) bar += '>';
    bar.resize(cells, ' ');
    line += fmt::format(" [{}]", bar);
  }
  line += tail;
  line.resize(std::min(line.size(), width));
  return line;
}

ProgressBar::ProgressBar(const Console& console, std::string label, ProgressUnit unit)
    : enabled_(console.error_is_terminal),
      width_(static_cast<std::size_t>(console.width)),
      label_(std::move(label)),
      unit_(unit),
      start_(Clock::now()),
      last_drawn_(start_) {}

void ProgressBar::Update(std::uint64_t done, std::uint64_t total) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (now - start_ < kFirstDraw || now - last_drawn_ < kRedraw) return;
  last_drawn_ = now;
  drawn_ = true;
  const ProgressState state = {.label = label_,
                               .unit = unit_,
                               .done = done,
                               .total = total,
                               .seconds = std::chrono::duration<double>(now - start_).count()};
  // One column stays free, so that no terminal wraps.
  PrintToError("\r" + RenderProgress(state, width_ - 1) + "\x1b[K");
}

void ProgressBar::Finish() {
  if (drawn_) PrintToError("\r\x1b[K");
  drawn_ = false;
  enabled_ = false;
}

}  // namespace stoker::cli
