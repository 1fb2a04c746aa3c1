#include "cli/summary.h"

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "sys/bandwidth.h"

namespace stoker::cli {

std::optional<double> ShareOfPeak(const Summary& summary) {
  const double gb_per_s = summary.stats.decode_gb_per_s();
  if (!summary.peak_bytes_per_s || *summary.peak_bytes_per_s <= 0.0 || gb_per_s <= 0.0) {
    return std::nullopt;
  }
  return gb_per_s * 1e9 / *summary.peak_bytes_per_s;
}

double DecodeTokPerS(const Summary& summary) {
  if (summary.answer_seconds <= 0.0) return 0.0;
  return static_cast<double>(summary.stats.decode_steps) / summary.answer_seconds;
}

double PrefillTokPerS(const engine::GenerationStats& stats) {
  if (stats.prefill_seconds <= 0.0) return 0.0;
  return static_cast<double>(stats.prompt_tokens - stats.cached_tokens) / stats.prefill_seconds;
}

std::string SummaryLine(const Summary& summary) {
  const engine::GenerationStats& stats = summary.stats;
  std::string line = fmt::format("{} tokens in", stats.prompt_tokens);
  if (stats.cached_tokens > 0) line += fmt::format(" ({} cached)", stats.cached_tokens);
  line += fmt::format(", {:.1f} tok/s; {} out", PrefillTokPerS(stats), stats.answer_tokens);
  if (stats.decode_steps > 0) {
    line +=
        fmt::format(", {:.1f} tok/s; {:.2f} GB/s", DecodeTokPerS(summary), stats.decode_gb_per_s());
  }
  if (const auto share = ShareOfPeak(summary)) {
    line += fmt::format(", {:.0f} % of this machine's {:.1f} GB/s", *share * 100.0,
                        *summary.peak_bytes_per_s / 1e9);
  }
  return line;
}

nlohmann::ordered_json SummaryJson(const Summary& summary) {
  const engine::GenerationStats& stats = summary.stats;
  nlohmann::ordered_json json = {
      {"prompt_tokens", stats.prompt_tokens},      {"cached_tokens", stats.cached_tokens},
      {"answer_tokens", stats.answer_tokens},      {"load_s", summary.load_seconds},
      {"prefill_s", stats.prefill_seconds},        {"prefill_tok_per_s", PrefillTokPerS(stats)},
      {"decode_s", summary.answer_seconds},        {"decode_tok_per_s", DecodeTokPerS(summary)},
      {"decode_step_s", stats.decode_seconds},     {"decode_bytes", stats.decode_bytes},
      {"decode_gb_per_s", stats.decode_gb_per_s()}};
  if (summary.peak_bytes_per_s) json["peak_gb_per_s"] = *summary.peak_bytes_per_s / 1e9;
  if (const auto share = ShareOfPeak(summary)) json["share_of_peak"] = *share;
  return json;
}

std::string_view Name(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return "stop";
    case engine::FinishReason::kLength:
      return "length";
    case engine::FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

std::optional<double> QuickPeak(engine::Engine& engine) {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  constexpr int kPasses = 4;
  auto reader = sys::ReadBandwidth::Create(engine.pool(), kBytes);
  if (!reader.ok()) return std::nullopt;
  return reader->Measure(kPasses);
}

}  // namespace stoker::cli
