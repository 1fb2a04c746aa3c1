#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/model_config.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "engine/engine.h"

namespace stoker::cli {

/// How a model is loaded, as the command line says it.
struct LoadOptions {
  std::optional<std::size_t> context_tokens;  ///< the model's, at most engine::kDefaultContext
  std::string kv_dtype;                       ///< "bf16", "f32" or empty: the engine's choice
  std::size_t prefill_chunk = 512;
};

/// Declares the options of loading; they are read into `load`.
void AddLoadOptions(Options& options, LoadOptions& load);

/// Errors: kInvalidArgument naming the option.
absl::Status CheckLoadOptions(const LoadOptions& load);

/// The tokens of prompt and answer together that a model is loaded for. Errors: kInvalidArgument
/// where --context is beyond the positions of the model. Pure.
absl::StatusOr<std::size_t> ContextTokens(const LoadOptions& load,
                                          const checkpoint::ModelConfig& config);

/// What the engine is asked for, but for the context, which is left to it. `load` must have passed
/// CheckLoadOptions.
engine::EngineOptions ToEngineOptions(const LoadOptions& load, const CommonOptions& common);

/// Loads a model with a progress bar; Ctrl-C ends it (kCancelled).
absl::StatusOr<std::unique_ptr<engine::Engine>> LoadEngine(const std::filesystem::path& model,
                                                           const engine::EngineOptions& options,
                                                           const Console& console);

}  // namespace stoker::cli
