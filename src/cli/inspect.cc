#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "base/json.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/units.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "checkpoint/model_stats.h"
#include "cli/command.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

using checkpoint::ModelConfig;
using checkpoint::ModelStats;
using checkpoint::WeightStats;

std::string_view QuantName(checkpoint::QuantMethod quant) {
  switch (quant) {
    case checkpoint::QuantMethod::kNone:
      return "none";
    case checkpoint::QuantMethod::kFp8Block:
      return "FP8 (128x128 blocks)";
    case checkpoint::QuantMethod::kInt4PackQuantized:
      return "INT4 (groups of 32)";
  }
  return "?";
}

const WeightStats& Routed(const ModelStats& stats) {
  return stats.of(checkpoint::WeightClass::kRoutedExperts);
}

class Inspect final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "inspect",
            .summary = "Say what a model weighs: parameters, bytes, experts, cache.",
            .examples = "stoker inspect MODEL\nstoker inspect path/to/config.json --json"};
  }

  void AddOptions(Options& options) override {
    options.Positional("MODEL", model_, "checkpoint folder, or a config.json alone");
  }

  absl::Status Run(const CommonOptions& common, const Console&) override {
    STOKER_ASSIGN_OR_RETURN(const ModelConfig config, checkpoint::LoadModelConfig(model_));
    const ModelStats stats = checkpoint::ComputeModelStats(config);
    std::optional<std::uint64_t> stored_bytes;
    if (HoldsWeights()) {
      STOKER_ASSIGN_OR_RETURN(const checkpoint::Checkpoint weights,
                              checkpoint::Checkpoint::Open(model_));
      stored_bytes = weights.tensor_bytes();
    }
    Print(common.json ? Json(config, stats, stored_bytes) : Text(config, stats, stored_bytes));
    return absl::OkStatus();
  }

 private:
  // A config.json alone may have company, such as a tokenizer, but no shards.
  [[nodiscard]] bool HoldsWeights() const {
    std::error_code error;
    std::filesystem::directory_iterator entry(model_, error);
    for (; !error && entry != std::filesystem::end(entry); entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) return true;
    }
    return false;
  }

  static std::string Json(const ModelConfig& config, const ModelStats& stats,
                          std::optional<std::uint64_t> stored_bytes) {
    nlohmann::ordered_json json = {{"architecture", config.architecture},
                                   {"model_type", config.model_type},
                                   {"parameters", stats.total.parameters},
                                   {"active_parameters", stats.total.active_parameters},
                                   {"bytes", stats.total.bytes},
                                   {"active_bytes", stats.total.active_bytes},
                                   {"layers", config.layers},
                                   {"dense_layers", config.dense_layers},
                                   {"moe_layers", stats.moe_layers},
                                   {"hidden", config.hidden},
                                   {"vocabulary", config.vocab},
                                   {"context", config.max_positions},
                                   {"quantisation", QuantName(config.quant)},
                                   {"experts_per_layer", config.router.experts},
                                   {"experts_per_token", config.router.top_k},
                                   {"shared_experts", config.shared_experts},
                                   {"expert_parameters", stats.expert_parameters},
                                   {"expert_bytes", stats.expert_bytes},
                                   {"routed_bytes_per_token", Routed(stats).active_bytes},
                                   {"kv_bytes_per_token", stats.kv_bytes_per_token}};
    if (stored_bytes) json["stored_bytes"] = *stored_bytes;
    for (const checkpoint::WeightClass weight_class : checkpoint::kWeightClasses) {
      const WeightStats& of = stats.of(weight_class);
      json["classes"][std::string(Name(weight_class))] = {
          {"parameters", of.parameters},
          {"bytes", of.bytes},
          {"active_parameters", of.active_parameters},
          {"active_bytes", of.active_bytes}};
    }
    return DumpJson(json) + "\n";
  }

  static std::string Text(const ModelConfig& config, const ModelStats& stats,
                          std::optional<std::uint64_t> stored_bytes) {
    Table facts({{"", Table::Align::kLeft}, {"", Table::Align::kLeft}});
    facts.AddRow(
        {"architecture", OneLine(fmt::format("{} ({})", config.architecture, config.model_type))});
    facts.AddRow(
        {"parameters", fmt::format("{}, {} active a token", FormatCount(stats.total.parameters),
                                   FormatCount(stats.total.active_parameters))});
    facts.AddRow({"weights", fmt::format("{}, {} read a token", FormatBytes(stats.total.bytes),
                                         FormatBytes(stats.total.active_bytes))});
    if (stored_bytes) facts.AddRow({"stored", FormatBytes(*stored_bytes)});
    facts.AddRow({"quantisation", std::string(QuantName(config.quant))});
    facts.AddRow({"layers", fmt::format("{}: {} dense, {} mixture of experts", config.layers,
                                        config.dense_layers, stats.moe_layers)});
    if (stats.moe_layers > 0) {
      facts.AddRow(
          {"experts", fmt::format("{} a layer, {} a token, {} shared", config.router.experts,
                                  config.router.top_k, config.shared_experts)});
      facts.AddRow({"an expert", fmt::format("{}, {}", FormatCount(stats.expert_parameters),
                                             FormatBytes(stats.expert_bytes))});
      facts.AddRow({"routed", FormatBytes(Routed(stats).active_bytes) + " a token"});
    }
    facts.AddRow({"KV cache", fmt::format("{} B a token", stats.kv_bytes_per_token)});
    facts.AddRow({"context", fmt::format("{} tokens", config.max_positions)});
    facts.AddRow({"vocabulary", fmt::format("{}", config.vocab)});

    Table classes({{"class", Table::Align::kLeft}, {"parameters"}, {"bytes"}, {"read a token"}});
    for (const checkpoint::WeightClass weight_class : checkpoint::kWeightClasses) {
      const WeightStats& of = stats.of(weight_class);
      if (of.parameters == 0) continue;
      classes.AddRow({std::string(Name(weight_class)), FormatCount(of.parameters),
                      FormatBytes(of.bytes), FormatBytes(of.active_bytes)});
    }
    return facts.Render() + "\n" + classes.Render();
  }

  std::string model_;
};

}  // namespace

std::unique_ptr<Command> NewInspectCommand() {
  return std::make_unique<Inspect>();
}

}  // namespace stoker::cli
