#include <string>

#include "checkpoint/model_config.h"
#include "checkpoint/quant_config.h"
#include "nlohmann/json.hpp"

namespace stoker::checkpoint {
namespace {

using json = nlohmann::ordered_json;

std::string_view DTypeName(tensor::DType dtype) {
  if (dtype == tensor::DType::kF32) return "float32";
  return dtype == tensor::DType::kF16 ? "float16" : "bfloat16";
}

json FormatRope(const std::optional<YarnConfig>& yarn) {
  if (!yarn) return nullptr;
  return {{"type", "yarn"},
          {"factor", yarn->factor},
          {"original_max_position_embeddings",
           static_cast<std::uint64_t>(yarn->original_max_positions)},
          {"beta_fast", yarn->beta_fast},
          {"beta_slow", yarn->beta_slow},
          {"mscale", yarn->mscale},
          {"mscale_all_dim", yarn->mscale_all_dim}};
}

json FormatTokens(const ModelConfig& config) {
  json end = json::array();
  for (const TokenId token : config.end_tokens) end.push_back(Index(token));
  if (end.size() == 1) return end.front();
  return end;
}

json FormatText(const ModelConfig& config) {
  json text = {{"hidden_size", config.hidden},
               {"num_hidden_layers", config.layers},
               {"vocab_size", config.vocab},
               {"max_position_embeddings", config.max_positions},
               {"rms_norm_eps", config.rms_norm_eps},
               {"hidden_act", "silu"},
               {"dtype", DTypeName(config.dtype)},
               {"tie_word_embeddings", config.tied_embeddings},
               {"num_nextn_predict_layers", config.mtp_layers},
               {"eos_token_id", FormatTokens(config)},
               {"num_attention_heads", config.heads},
               {"num_key_value_heads", config.heads},
               {"attention_bias", false},
               {"q_lora_rank", nullptr},
               {"kv_lora_rank", config.kv_lora_rank},
               {"qk_nope_head_dim", config.qk_nope_dim},
               {"qk_rope_head_dim", config.qk_rope_dim},
               {"v_head_dim", config.v_head_dim},
               {"rope_theta", config.rope_theta},
               {"rope_scaling", FormatRope(config.yarn)},
               {"first_k_dense_replace", config.dense_layers},
               {"intermediate_size", config.dense_width},
               {"moe_intermediate_size", config.expert_width},
               {"moe_layer_freq", 1},
               {"n_shared_experts", config.shared_experts},
               {"n_routed_experts", config.router.experts},
               {"num_experts_per_tok", config.router.top_k},
               {"n_group", config.router.groups},
               {"topk_group", config.router.top_groups},
               {"norm_topk_prob", config.router.normalise_weights},
               {"routed_scaling_factor", config.router.weight_scale},
               {"scoring_func", "sigmoid"},
               {"topk_method", "noaux_tc"}};
  if (config.q_lora_rank > 0) text["q_lora_rank"] = config.q_lora_rank;
  if (config.begin_token) text["bos_token_id"] = Index(*config.begin_token);
  if (config.quant != QuantMethod::kNone) {
    text["quantization_config"] = FormatQuantization(config.quant);
  }
  return text;
}

}  // namespace

std::string FormatModelConfig(const ModelConfig& config) {
  json document = {{"architectures", json::array({config.architecture})},
                   {"model_type", config.model_type}};
  if (config.tensor_prefix.empty()) {
    document.update(FormatText(config));
  } else {
    document["text_config"] = FormatText(config);
  }
  return document.dump(2) + "\n";
}

}  // namespace stoker::checkpoint
