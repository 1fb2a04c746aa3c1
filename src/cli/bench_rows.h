#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/whole_model.h"
#include "nlohmann/json_fwd.hpp"

namespace stoker::cli {

/// One measured line of `stoker bench`: a decode step of `batch` sequences, or a prompt. The steps
/// alone: nothing is drawn from their logits.
struct BenchRow {
  std::size_t tokens = 0;               ///< that came out of a decode step, or of a prompt
  double seconds = 0.0;                 ///< of the step or the prompt that took the median time
  std::uint64_t bytes = 0;              ///< that the same one read
  double peak_bytes_per_s = 0.0;        ///< read bandwidth measured around it
  std::optional<PartCost> whole_model;  ///< the same step of a whole model, added up

  [[nodiscard]] double tok_per_s() const;
  [[nodiscard]] double gb_per_s() const;
  [[nodiscard]] double share_of_peak() const;
};

/// What a bench run has to say beside its rows.
struct BenchRun {
  double load_seconds = 0.0;
  std::uint64_t loaded_bytes = 0;
  std::uint64_t weight_bytes = 0;  ///< of the checkpoint's tensors
  double peak_bytes_per_s = 0.0;   ///< the best measured in the run
  int threads = 0;
  std::string isa;
  std::optional<LayerCounts> whole_model;
};

/// Tables for people and JSON for programs. Pure.
std::string DecodeText(const std::vector<BenchRow>& rows, const BenchRun& run);
std::string PrefillText(const std::vector<BenchRow>& rows, const BenchRun& run);
nlohmann::ordered_json DecodeJson(const std::vector<BenchRow>& rows, std::size_t context_tokens,
                                  const BenchRun& run);
nlohmann::ordered_json PrefillJson(const std::vector<BenchRow>& rows, const BenchRun& run);

/// The one of median time, with its own bytes; the mean of the two middle ones of an even number.
/// `costs` is not empty. Pure.
PartCost MedianCost(std::vector<PartCost> costs);

}  // namespace stoker::cli
