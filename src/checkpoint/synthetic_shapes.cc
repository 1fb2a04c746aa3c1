#include <functional>
#include <utility>

#include "base/status.h"
#include "base/suggest.h"
#include "checkpoint/synthetic.h"
#include "fmt/format.h"

namespace stoker::checkpoint {
namespace {

ModelConfig Base() {
  ModelConfig config;
  config.architecture = "DeepseekV3ForCausalLM";
  config.model_type = "kimi_k2";
  config.rms_norm_eps = 1e-5;
  config.rope_theta = 50000;
  config.quant = QuantMethod::kInt4PackQuantized;
  config.vocab = 163840;
  config.dense_layers = 1;
  config.shared_experts = 1;
  return config;
}

YarnConfig Yarn(double factor, double original_max_positions) {
  YarnConfig yarn;
  yarn.factor = factor;
  yarn.original_max_positions = original_max_positions;
  yarn.beta_fast = 32;
  yarn.mscale = 1;
  yarn.mscale_all_dim = 1;
  return yarn;
}

ModelConfig Tiny() {
  ModelConfig config = Base();
  config.layers = 3;
  config.hidden = 64;
  config.vocab = 512;
  config.max_positions = 4096;
  config.heads = 4;
  config.q_lora_rank = 32;
  config.kv_lora_rank = 32;
  config.qk_nope_dim = 16;
  config.qk_rope_dim = 8;
  config.v_head_dim = 16;
  config.yarn = Yarn(4, 1024);
  config.dense_width = 128;
  config.expert_width = 32;
  config.router.experts = 16;
  config.router.top_k = 4;
  config.router.weight_scale = 2.5;
  return config;
}

// huggingface.co/moonshotai/Moonlight-16B-A3B
ModelConfig Moonlight() {
  ModelConfig config = Base();
  config.model_type = "deepseek_v3";
  config.layers = 27;
  config.hidden = 2048;
  config.max_positions = 8192;
  config.heads = 16;
  config.kv_lora_rank = 512;
  config.qk_nope_dim = 128;
  config.qk_rope_dim = 64;
  config.v_head_dim = 128;
  config.dense_width = 11264;
  config.expert_width = 1408;
  config.shared_experts = 2;
  config.router.experts = 64;
  config.router.top_k = 6;
  config.router.weight_scale = 2.446;
  return config;
}

// huggingface.co/moonshotai/Kimi-K2.6, two layers of 61
ModelConfig K2Layer() {
  ModelConfig config = Base();
  config.layers = 2;
  config.hidden = 7168;
  config.max_positions = 262144;
  config.heads = 64;
  config.q_lora_rank = 1536;
  config.kv_lora_rank = 512;
  config.qk_nope_dim = 128;
  config.qk_rope_dim = 64;
  config.v_head_dim = 128;
  config.yarn = Yarn(64, 4096);
  config.dense_width = 18432;
  config.expert_width = 2048;
  config.router.experts = 384;
  config.router.top_k = 8;
  config.router.weight_scale = 2.827;
  return config;
}

// The expert counts of Kimi-Linear-48B with MLA throughout. The vocabulary is cut as the widths
// are, so that a token still reads more expert bytes than head bytes.
ModelConfig KimiLinearLike() {
  ModelConfig config = Base();
  config.layers = 27;
  config.hidden = 1024;
  config.vocab = 32768;
  config.max_positions = 32768;
  config.heads = 16;
  config.kv_lora_rank = 256;
  config.qk_nope_dim = 64;
  config.qk_rope_dim = 32;
  config.v_head_dim = 64;
  config.dense_width = 4096;
  config.expert_width = 512;
  config.router.experts = 256;
  config.router.top_k = 8;
  config.router.weight_scale = 2.446;
  return config;
}

const std::vector<std::pair<std::string, std::function<ModelConfig()>>>& Shapes() {
  static const std::vector<std::pair<std::string, std::function<ModelConfig()>>> kShapes = {
      {"tiny", Tiny},
      {"moonlight", Moonlight},
      {"k2-layer", K2Layer},
      {"kimi-linear-like", KimiLinearLike},
  };
  return kShapes;
}

}  // namespace

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Shapes()) names.push_back(name);
  return names;
}

absl::StatusOr<ModelConfig> NamedShape(std::string_view name) {
  for (const auto& [known, make] : Shapes()) {
    if (known == name) return make();
  }
  return InvalidArgument("unknown shape \"{}\"; use {}, or the path of a config.json{}", name,
                         fmt::join(ShapeNames(), ", "), DidYouMean(name, ShapeNames()));
}

absl::StatusOr<QuantMethod> ParseSyntheticFormat(std::string_view name) {
  if (name == "int4") return QuantMethod::kInt4PackQuantized;
  if (name == "fp8") return QuantMethod::kFp8Block;
  if (name == "bf16") return QuantMethod::kNone;
  return InvalidArgument("unknown format \"{}\"; use int4, fp8 or bf16{}", name,
                         DidYouMean(name, {"int4", "fp8", "bf16"}));
}

}  // namespace stoker::checkpoint
