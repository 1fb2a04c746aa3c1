#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "engine/engine.h"

namespace stoker::cli {

/// How a model is loaded, as the command line says it.
struct LoadOptions {
  std::size_t context_tokens = 0;  ///< 0: the engine's choice
  std::string kv_dtype;            ///< "bf16", "f32" or empty: the engine's choice
  std::size_t prefill_chunk = 512;
};

void AddLoadOptions(Options& options, LoadOptions& load);

/// Errors: kInvalidArgument naming the option.
absl::Status CheckLoadOptions(const LoadOptions& load);

/// What the engine is asked for. `load` must have passed CheckLoadOptions.
engine::EngineOptions ToEngineOptions(const LoadOptions& load, const CommonOptions& common);

/// Loads a model with a progress bar; Ctrl-C ends it (kCancelled).
absl::StatusOr<std::unique_ptr<engine::Engine>> LoadEngine(const std::filesystem::path& model,
                                                           const engine::EngineOptions& options,
                                                           const Console& console);

}  // namespace stoker::cli
