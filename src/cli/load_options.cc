#include "cli/load_options.h"

#include <algorithm>

#include "base/status.h"
#include "base/suggest.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace stoker::cli {

void AddLoadOptions(Options& options, LoadOptions& load) {
  options.Heading("loading");
  options.Value("--context", "N", load.context_tokens,
                "tokens of prompt and answer together; default: the model's, at most 8192");
  options.Value("--kv-dtype", "TYPE", load.kv_dtype,
                "element of the cache, bf16 or f32; default: bf16, with --isa ref f32");
  options.Value("--prefill-chunk", "N", load.prefill_chunk,
                "prompt tokens that one step takes at most; default: 512");
}

absl::Status CheckLoadOptions(const LoadOptions& load) {
  if (!load.kv_dtype.empty() && load.kv_dtype != "bf16" && load.kv_dtype != "f32") {
    return InvalidArgument("--kv-dtype: \"{}\" is neither bf16 nor f32{}", load.kv_dtype,
                           DidYouMean(load.kv_dtype, {"bf16", "f32"}));
  }
  constexpr std::size_t kLargestChunk = 65536;
  if (load.prefill_chunk < 1 || load.prefill_chunk > kLargestChunk) {
    return InvalidArgument("--prefill-chunk: {} is not from 1 to {}", load.prefill_chunk,
                           kLargestChunk);
  }
  if (load.context_tokens == 0) return InvalidArgument("--context: use 1 or more");
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> ContextTokens(const LoadOptions& load,
                                          const checkpoint::ModelConfig& config) {
  const std::size_t tokens =
      load.context_tokens.value_or(std::min(config.max_positions, engine::kDefaultContext));
  if (tokens <= config.max_positions) return tokens;
  return InvalidArgument("--context {} is beyond the {} positions of this model", tokens,
                         config.max_positions);
}

engine::EngineOptions ToEngineOptions(const LoadOptions& load, const CommonOptions& common) {
  engine::EngineOptions options = {
      .threads = common.threads, .isa = common.isa, .prefill_chunk = load.prefill_chunk};
  if (load.kv_dtype == "bf16") options.kv_dtype = kernels::KvDType::kBf16;
  if (load.kv_dtype == "f32") options.kv_dtype = kernels::KvDType::kF32;
  return options;
}

absl::StatusOr<std::unique_ptr<engine::Engine>> LoadEngine(const std::filesystem::path& model,
                                                           const engine::EngineOptions& options,
                                                           const Console& console) {
  ProgressBar bar(console, "loading", ProgressUnit::kBytes);
  return engine::Engine::Load(model, options, [&bar](std::size_t done, std::size_t total) {
    bar.Update(done, total);
    return !InterruptFlag().load();
  });
}

}  // namespace stoker::cli
