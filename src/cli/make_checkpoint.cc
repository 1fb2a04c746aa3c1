#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status.h"
#include "base/units.h"
#include "checkpoint/model_config.h"
#include "checkpoint/synthetic.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "nlohmann/json.hpp"
#include "sys/topology.h"

namespace stoker::cli {
namespace {

// A name, or a config.json or a folder with one.
absl::StatusOr<checkpoint::ModelConfig> ReadShape(const std::string& shape) {
  std::error_code error;
  const bool looks_like_path = shape.find('/') != std::string::npos || shape.ends_with(".json");
  if (looks_like_path || std::filesystem::is_directory(shape, error)) {
    return checkpoint::LoadModelConfig(shape);
  }
  return checkpoint::NamedShape(shape);
}

class MakeCheckpoint final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "make-checkpoint",
            .summary = "Write a checkpoint of random weights, for tests and measurements.",
            .examples =
                "stoker make-checkpoint --shape tiny OUT\n"
                "stoker make-checkpoint --shape moonlight --seed 1 OUT\n"
                "stoker make-checkpoint --shape path/to/config.json --format fp8 OUT"};
  }

  void AddOptions(Options& options) override {
    options.Positional("OUT", out_, "folder to write; must not hold files yet");
    options.Value("--shape", "NAME", shape_,
                  "a config.json, or " + absl::StrJoin(checkpoint::ShapeNames(), ", "));
    options.Value("--format", "TYPE", format_, "int4 (as Kimi K2.6), fp8 or bf16; default: int4");
    options.Value("--seed", "N", seed_, "the same seed gives the same weights; default: 0");
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (shape_.empty()) {
      return InvalidArgument("--shape is missing; use a config.json, or {}",
                             std::string(absl::StrJoin(checkpoint::ShapeNames(), ", ")));
    }
    return At("--format", checkpoint::ParseSyntheticFormat(format_).status());
  }

  absl::Status Run(const CommonOptions& common, const Console& console) override {
    checkpoint::SyntheticOptions options;
    STOKER_ASSIGN_OR_RETURN(options.config, ReadShape(shape_));
    STOKER_ASSIGN_OR_RETURN(options.format, checkpoint::ParseSyntheticFormat(format_));
    STOKER_ASSIGN_OR_RETURN(const sys::Topology topology, sys::DetectTopology());
    options.seed = seed_;
    options.threads = common.threads > 0 ? common.threads : static_cast<int>(topology.cores.size());
    ProgressBar bar(console, "writing", ProgressUnit::kBytes);
    options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.Update(done, total);
      return !InterruptFlag().load();
    };
    STOKER_RETURN_IF_ERROR(checkpoint::WriteSyntheticCheckpoint(options, out_));
    bar.Finish();
    const std::uint64_t bytes = checkpoint::SyntheticCheckpointBytes(options);
    if (common.json) {
      const nlohmann::ordered_json json = {{"path", out_}, {"bytes", bytes}, {"seed", seed_}};
      Print(DumpJson(json) + "\n");
    } else {
      PrintNote(fmt::format("wrote {} to {}", FormatBytes(bytes), out_));
    }
    return absl::OkStatus();
  }

 private:
  std::string out_;
  std::string shape_;
  std::string format_ = "int4";
  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Command> NewMakeCheckpointCommand() {
  return std::make_unique<MakeCheckpoint>();
}

}  // namespace stoker::cli
