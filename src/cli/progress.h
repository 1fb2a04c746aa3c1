#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace stoker::cli {

/// What is being counted, and so how it is shown.
enum class ProgressUnit { kBytes, kTokens };

/// One line without a newline, at most `width` columns: "loading  [=====>    ]  53%  1.20 GB/s  4 s
/// left". Pure.
struct ProgressState {
  std::string_view label;
  ProgressUnit unit = ProgressUnit::kBytes;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  double seconds = 0.0;  ///< since the start
};
std::string RenderProgress(const ProgressState& state, std::size_t width);

/// A progress bar on standard error. Shows nothing unless that is a terminal and the work lasts
/// long enough to wonder; takes itself off the screen when it ends.
class ProgressBar {
 public:
  ProgressBar(const Console& console, std::string label, ProgressUnit unit);
  ~ProgressBar() { Finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Cheap enough to call for every piece of work.
  void Update(std::uint64_t done, std::uint64_t total);
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  std::size_t width_;
  std::string label_;
  ProgressUnit unit_;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
  bool drawn_ = false;
};

}  // namespace stoker::cli
