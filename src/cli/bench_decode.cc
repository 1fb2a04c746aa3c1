#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/model_config.h"
#include "cli/bench_rows.h"
#include "cli/command.h"
#include "cli/load_options.h"
#include "cli/model_bench.h"
#include "cli/whole_model.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

constexpr std::size_t kMostLayers = 10000;

class BenchDecode final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "bench decode",
            .summary = "Measure decode steps by batch size, beside the machine's read bandwidth.",
            .examples =
                "stoker bench decode MODEL\n"
                "stoker bench decode MODEL --batch 1,8 --context 4096 --json"};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "checkpoint folder");
    options.Value("--batch", "N,N", batches_, "sequences in a step; default: 1,2,4,8,16,32");
    options.Value("--context", "N", context_tokens_,
                  "tokens that each sequence holds already; default: 128");
    options.Value("--steps", "N", steps_, "steps, of which the median counts; default: 16");
    options.Value("--whole-model-layers", "N", whole_layers_,
                  "also add up a model of N layers from the layer kinds measured; default: Kimi "
                  "K2's 61 where the checkpoint holds a few of its layers");
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (std::ranges::max(batches_) > 4096) return InvalidArgument("--batch: use at most 4096");
    if (context_tokens_ < 1) return InvalidArgument("--context: use 1 or more");
    if (whole_layers_.value_or(0) > kMostLayers) {
      return InvalidArgument("--whole-model-layers: use at most {}", kMostLayers);
    }
    if (steps_ < 1 || steps_ > 100000) return InvalidArgument("--steps: use 1 to 100000");
    return absl::OkStatus();
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    // What can be wrong with the options shows before the weights are loaded.
    STOKER_ASSIGN_OR_RETURN(const checkpoint::ModelConfig config,
                            checkpoint::LoadModelConfig(model_));
    if (context_tokens_ >= config.max_positions) {
      return InvalidArgument(
          "--context: {} tokens and the one of the step are beyond the {} positions of this model",
          context_tokens_, config.max_positions);
    }
    STOKER_ASSIGN_OR_RETURN(const std::optional<LayerCounts> whole, WholeModel(config));
    const engine::EngineOptions options = {
        .threads = common.threads,
        .isa = common.isa,
        .context_tokens = context_tokens_ + 1,
        .cache_tokens = CacheTokens(std::ranges::max(batches_), context_tokens_ + 1)};
    STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<ModelBench> bench,
                            ModelBench::Load(model_, options, console));
    const ModelBench::DecodePlan plan = {.batches = batches_,
                                         .context_tokens = context_tokens_,
                                         .steps = steps_,
                                         .whole_model = whole};
    STOKER_ASSIGN_OR_RETURN(const std::vector<BenchRow> rows, bench->Decode(plan, console));
    BenchRun run = bench->Describe();
    run.whole_model = whole;
    Print(common.json ? DumpJson(DecodeJson(rows, context_tokens_, run)) + "\n"
                      : DecodeText(rows, run));
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] absl::StatusOr<std::optional<LayerCounts>> WholeModel(
      const checkpoint::ModelConfig& config) const {
    if (!whole_layers_) return WholeModelOf(config);
    if (*whole_layers_ <= config.dense_layers || config.layers <= config.dense_layers) {
      return InvalidArgument(
          "--whole-model-layers: {} leaves nothing to add up: this model has {} "
          "dense layers of {}",
          *whole_layers_, config.dense_layers, config.layers);
    }
    return LayerCounts{.dense = config.dense_layers, .moe = *whole_layers_ - config.dense_layers};
  }

  std::string model_;
  std::vector<std::size_t> batches_ = {1, 2, 4, 8, 16, 32};
  std::size_t context_tokens_ = 128;
  std::size_t steps_ = 16;
  std::optional<std::size_t> whole_layers_;
};

}  // namespace

std::unique_ptr<Command> NewBenchDecodeCommand() {
  return std::make_unique<BenchDecode>();
}

}  // namespace stoker::cli
