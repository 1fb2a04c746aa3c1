#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "nlohmann/json_fwd.hpp"

namespace stoker::cli {

/// What is said of a generation beside its text.
struct Summary {
  engine::GenerationStats stats;
  double answer_seconds = 0.0;  ///< from the first token drawn to the last
  double load_seconds = 0.0;
  std::optional<double> peak_bytes_per_s;  ///< measured read bandwidth of the machine
};

/// Bandwidth of the decode steps as a share of the measured peak; nothing where either is unknown.
/// Pure.
std::optional<double> ShareOfPeak(const Summary& summary);

/// Tokens a second of the answer, from one drawn token to the next: with the drawing and the
/// printing, which ShareOfPeak leaves out. Pure.
double DecodeTokPerS(const Summary& summary);

/// Prompt tokens that were really processed, a second. Pure.
double PrefillTokPerS(const engine::GenerationStats& stats);

/// "17 tokens in, 41 tok/s; 120 out, 13.2 tok/s; 10.9 GB/s, 88 % of this machine's 12.4 GB/s".
/// Pure.
std::string SummaryLine(const Summary& summary);

/// The same and more as JSON. Pure.
nlohmann::ordered_json SummaryJson(const Summary& summary);

/// "stop", "length" or "cancelled".
std::string_view Name(engine::FinishReason reason);

/// Read bandwidth of the machine with the engine's own workers, in about a third of a second;
/// nothing where there is no memory to measure with.
std::optional<double> QuickPeak(engine::Engine& engine);

}  // namespace stoker::cli
