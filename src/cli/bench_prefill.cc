#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/model_config.h"
#include "cli/bench_rows.h"
#include "cli/command.h"
#include "cli/load_options.h"
#include "cli/model_bench.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

class BenchPrefill final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "bench prefill",
            .summary = "Measure how fast prompts are read.",
            .examples =
                "stoker bench prefill MODEL\n"
                "stoker bench prefill MODEL --tokens 128,512,2048 --json"};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "checkpoint folder");
    options.Value("--tokens", "N,N", tokens_, "lengths of the prompts; default: 512");
    options.Value("--repeats", "N", repeats_, "times, of which the median counts; default: 3");
    options.Value("--prefill-chunk", "N", load_.prefill_chunk,
                  "prompt tokens that one step takes at most; default: 512");
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (repeats_ < 1 || repeats_ > 1000) return InvalidArgument("--repeats: use 1 to 1000");
    return CheckLoadOptions(load_);
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    // What can be wrong with the options shows before the weights are loaded.
    STOKER_ASSIGN_OR_RETURN(const checkpoint::ModelConfig config,
                            checkpoint::LoadModelConfig(model_));
    const std::size_t longest = std::ranges::max(tokens_);
    if (longest > config.max_positions) {
      return InvalidArgument("--tokens: {} is beyond the {} positions of this model", longest,
                             config.max_positions);
    }
    engine::EngineOptions options = ToEngineOptions(load_, common);
    options.context_tokens = longest;
    options.cache_tokens = CacheTokens(1, options.context_tokens);
    STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<ModelBench> bench,
                            ModelBench::Load(model_, options, console));
    std::vector<BenchRow> rows;
    for (const std::size_t tokens : tokens_) {
      STOKER_ASSIGN_OR_RETURN(const BenchRow row,
                              bench->Prefill(tokens, load_.prefill_chunk, repeats_));
      rows.push_back(row);
    }
    const BenchRun run = bench->Describe();
    Print(common.json ? DumpJson(PrefillJson(rows, run)) + "\n" : PrefillText(rows, run));
    return absl::OkStatus();
  }

 private:
  std::string model_;
  std::vector<std::size_t> tokens_ = {512};
  std::size_t repeats_ = 3;
  LoadOptions load_;
};

}  // namespace

std::unique_ptr<Command> NewBenchPrefillCommand() {
  return std::make_unique<BenchPrefill>();
}

}  // namespace stoker::cli
