#include "checkpoint/model_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/config_fields.h"
#include "checkpoint/quant_config.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "sys/file.h"
#include "tensor/linear_weight.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;

// Far above any published model, far below what could overflow a 64-bit product of sizes.
constexpr std::size_t kMaxLayers = 1024;
constexpr std::size_t kMaxWidth = std::size_t{1} << 17;
constexpr std::size_t kMaxDenseWidth = std::size_t{1} << 20;
constexpr std::size_t kMaxVocab = std::size_t{1} << 22;
constexpr std::size_t kMaxPositions = std::size_t{1} << 26;
constexpr std::size_t kMaxHeads = 1024;
constexpr std::size_t kMaxHeadDim = 4096;
constexpr std::size_t kMaxExperts = 4096;
constexpr std::size_t kMaxTopK = 64;
constexpr std::size_t kMaxSharedExperts = 64;
constexpr std::size_t kMaxMtpLayers = 16;
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{4} << 20;

struct Family {
  std::string_view model_type;
  std::string_view architecture;
  bool nested = false;  // text fields under text_config, tensors under language_model.
};

constexpr std::array<Family, 5> kFamilies = {{
    {"deepseek_v3", "DeepseekV3ForCausalLM", false},
    {"kimi_k2", "DeepseekV3ForCausalLM", false},
    {"kimi_k2", "KimiK2ForCausalLM", false},
    {"kimi_k25", "KimiK25ForConditionalGeneration", true},
    {"kimi_vl", "KimiVLForConditionalGeneration", true},
}};

constexpr std::string_view kWhatRuns =
    "DeepseekV3ForCausalLM, KimiK2ForCausalLM, KimiK25ForConditionalGeneration or "
    "KimiVLForConditionalGeneration";

constexpr std::string_view kNestedTensorPrefix = "language_model.";

// The family that the outermost object names. `architectures` decides, else `model_type`.
const Family* FindFamily(ConfigFields& root, ModelConfig& config) {
  config.model_type = root.Text("model_type", "");
  if (const json* list = root.Value("architectures"); list != nullptr) {
    if (!list->is_array() || list->size() != 1 || !list->front().is_string()) {
      root.Mismatch("architectures", "a list of one name");
      return nullptr;
    }
    config.architecture = list->front().get<std::string>();
  }
  for (const Family& family : kFamilies) {
    if (!config.architecture.empty() ? family.architecture == config.architecture
                                     : family.model_type == config.model_type) {
      if (config.architecture.empty()) config.architecture = family.architecture;
      if (config.model_type.empty()) config.model_type = family.model_type;
      return &family;
    }
  }
  if (config.architecture == "DeepseekV2ForCausalLM" || config.model_type == "deepseek_v2") {
    root.Fail(Unimplemented("DeepSeek-V2 (softmax routing) is not supported; Stoker supports {}",
                            kWhatRuns));
  } else {
    root.Unsupported(config.architecture.empty() ? "model_type" : "architectures", kWhatRuns);
  }
  return nullptr;
}

void ReadBody(ConfigFields& text, ModelConfig& config) {
  config.layers = text.Size("num_hidden_layers", {1, kMaxLayers});
  config.hidden = text.Size("hidden_size", {2, kMaxWidth});
  config.vocab = text.Size("vocab_size", {2, kMaxVocab});
  config.max_positions = text.Size("max_position_embeddings", {1, kMaxPositions});
  config.rms_norm_eps = text.Number("rms_norm_eps", {0, 1}, 1e-6);
  config.mtp_layers = text.Size("num_nextn_predict_layers", {0, kMaxMtpLayers}, 0);
  if (text.Text("hidden_act", "silu") != "silu") text.Unsupported("hidden_act", "silu");
  const std::string_view key = text.Has("dtype") ? "dtype" : "torch_dtype";
  const std::string dtype = text.Text(key, "bfloat16");
  if (dtype == "bfloat16") {
    config.dtype = tensor::DType::kBf16;
  } else if (dtype == "float16") {
    config.dtype = tensor::DType::kF16;
  } else if (dtype == "float32") {
    config.dtype = tensor::DType::kF32;
  } else {
    text.Unsupported(key, "bfloat16, float16 or float32");
  }
}

void ReadAttention(ConfigFields& text, ModelConfig& config) {
  config.heads = text.Size("num_attention_heads", {1, kMaxHeads});
  config.q_lora_rank = text.Size("q_lora_rank", {1, kMaxWidth}, 0);
  config.kv_lora_rank = text.Size("kv_lora_rank", {2, kMaxWidth});
  config.qk_nope_dim = text.Size("qk_nope_head_dim", {2, kMaxHeadDim});
  config.qk_rope_dim = text.Size("qk_rope_head_dim", {2, kMaxHeadDim});
  config.v_head_dim = text.Size("v_head_dim", {2, kMaxHeadDim});
  for (const auto& [key, size] :
       {std::pair<std::string_view, std::size_t>{"hidden_size", config.hidden},
        {"kv_lora_rank", config.kv_lora_rank},
        {"qk_nope_head_dim", config.qk_nope_dim},
        {"qk_rope_head_dim", config.qk_rope_dim},
        {"v_head_dim", config.v_head_dim}}) {
    if (size % 2 != 0) text.Mismatch(key, "even");
  }
  // MLA's latent serves every head: fewer key heads than query heads is another architecture.
  if (text.Size("num_key_value_heads", {1, kMaxHeads}, config.heads) != config.heads) {
    text.Mismatch("num_key_value_heads",
                  fmt::format("num_attention_heads ({}), as MLA has it", config.heads));
  }
  if (text.Bool("attention_bias", false)) {
    text.Unsupported("attention_bias", "models without attention bias");
  }
  if (!text.Bool("rope_interleave", true)) {
    text.Unsupported("rope_interleave", "interleaved rotary embeddings");
  }
}

void ReadYarn(ConfigFields& rope, ModelConfig& config) {
  YarnConfig yarn;
  const NumberRange positive = {0, 1e6};
  yarn.factor = rope.Number("factor", {0, 1e6});
  if (yarn.factor < 1) rope.Mismatch("factor", "at least 1");
  yarn.original_max_positions = static_cast<double>(
      rope.Size("original_max_position_embeddings", {1, kMaxPositions}, config.max_positions));
  yarn.beta_fast = rope.Number("beta_fast", positive, yarn.beta_fast);
  yarn.beta_slow = rope.Number("beta_slow", positive, yarn.beta_slow);
  if (yarn.beta_fast < yarn.beta_slow) {
    rope.Mismatch("beta_fast", fmt::format("at least beta_slow ({})", yarn.beta_slow));
  }
  const NumberRange magnitude = {-1, 100};
  yarn.mscale = rope.Number("mscale", magnitude, yarn.mscale);
  yarn.mscale_all_dim = rope.Number("mscale_all_dim", magnitude, yarn.mscale_all_dim);
  if (yarn.mscale < 0) rope.Mismatch("mscale", "at least 0");
  if (yarn.mscale_all_dim < 0) rope.Mismatch("mscale_all_dim", "at least 0");
  if (rope.Has("attention_factor")) {
    rope.Unsupported("attention_factor", "YaRN whose magnitude follows from mscale");
  }
  if (!rope.Bool("truncate", true)) rope.Unsupported("truncate", "YaRN with whole-number bounds");
  config.yarn = yarn;
}

// transformers before 5 writes rope_scaling beside rope_theta; from 5 on rope_parameters has both.
void ReadRope(ConfigFields& text, ModelConfig& config) {
  const NumberRange theta = {1, 1e12};
  config.rope_theta = text.Number("rope_theta", theta, 10000);
  const bool both = text.Has("rope_parameters") && text.Has("rope_scaling");
  if (both && *text.Value("rope_parameters") != *text.Value("rope_scaling")) {
    text.Mismatch("rope_scaling", "the same as rope_parameters, or nothing beside it");
  }
  auto rope = text.Object(text.Has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  if (!rope) return;
  config.rope_theta = rope->Number("rope_theta", theta, config.rope_theta);
  const std::string_view key = rope->Has("rope_type") ? "rope_type" : "type";
  const std::string type = rope->Text(key, "default");
  if (type == "yarn") {
    ReadYarn(*rope, config);
  } else if (type != "default" && type != "none") {
    rope->Unsupported(key, "yarn or default");
  } else if (rope->Number("factor", {0, 1e6}, 1) != 1) {
    rope->Mismatch("factor", "1 where no other type of rope than the default is named");
  }
  if (rope->Has("type") && rope->Text("type", type) != type) {
    rope->Mismatch("type", fmt::format("the same as rope_type (\"{}\")", type));
  }
  text.Fail(rope->status());
}

void ReadExperts(ConfigFields& text, ModelConfig& config) {
  RouterConfig& router = config.router;
  config.dense_layers = text.Size("first_k_dense_replace", {0, config.layers}, 0);
  config.dense_width = text.Size("intermediate_size", {2, kMaxDenseWidth});
  config.expert_width = text.Size("moe_intermediate_size", {2, kMaxWidth});
  config.shared_experts = text.Size("n_shared_experts", {0, kMaxSharedExperts}, 0);
  router.experts = text.Size("n_routed_experts", {1, kMaxExperts});
  router.top_k = text.Size("num_experts_per_tok", {1, std::min(kMaxTopK, router.experts)});
  router.groups = text.Size("n_group", {1, router.experts}, 1);
  router.top_groups = text.Size("topk_group", {1, router.groups}, 1);
  router.normalise_weights = text.Bool("norm_topk_prob", true);
  router.weight_scale = text.Number("routed_scaling_factor", {0, 1000}, 1.0);
  if (text.Size("moe_layer_freq", {1, kMaxLayers}, 1) != 1) {
    text.Unsupported("moe_layer_freq", "1: every layer after the dense ones has experts");
  }
  if (text.Text("scoring_func", "sigmoid") != "sigmoid") {
    text.Unsupported("scoring_func", "sigmoid");
  }
  if (text.Text("topk_method", "noaux_tc") != "noaux_tc") {
    text.Unsupported("topk_method", "noaux_tc");
  }
  if (router.experts % router.groups != 0) {
    text.Mismatch("n_group", fmt::format("a divisor of n_routed_experts ({})", router.experts));
  } else if (router.groups > 1 && router.experts / router.groups < 2) {
    text.Mismatch("n_group",
                  "small enough for groups of two experts: a group's score is the sum "
                  "of its best two");
  } else if (router.top_groups * (router.experts / router.groups) < router.top_k) {
    text.Mismatch("topk_group", fmt::format("large enough to hold num_experts_per_tok ({}) experts",
                                            router.top_k));
  }
}

// Token ids and tied embeddings stand in the outer object, the text object, or both; the text
// object's word counts.
void ReadTokens(ConfigFields& text, ConfigFields& root, ModelConfig& config) {
  const SizeRange ids = {0, config.vocab - 1};
  ConfigFields& eos = text.Has("eos_token_id") ? text : root;
  for (const std::size_t id : eos.Sizes("eos_token_id", ids)) {
    config.end_tokens.push_back(TokenId{static_cast<std::int32_t>(id)});
  }
  ConfigFields& bos = text.Has("bos_token_id") ? text : root;
  if (bos.Has("bos_token_id")) {
    config.begin_token = TokenId{static_cast<std::int32_t>(bos.Size("bos_token_id", ids))};
  }
  ConfigFields& tied = text.Has("tie_word_embeddings") ? text : root;
  config.tied_embeddings = tied.Bool("tie_word_embeddings", false);
}

// INT4 groups lie along the columns of the experts' matrices.
void CheckInt4Widths(ConfigFields& text, const ModelConfig& config) {
  if (config.quant != QuantMethod::kInt4PackQuantized) return;
  if (config.hidden % tensor::kInt4Group != 0) {
    text.Mismatch("hidden_size", "a multiple of 32, the group size of the INT4 weights");
  }
  if (config.expert_width % tensor::kInt4Group != 0) {
    text.Mismatch("moe_intermediate_size", "a multiple of 32, the group size of the INT4 weights");
  }
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(std::string_view json_text) {
  STOKER_ASSIGN_OR_RETURN(const json document, ParseJson(json_text));
  if (!document.is_object()) {
    return InvalidArgument("the configuration is not a JSON object");
  }
  ModelConfig config;
  ConfigFields root(document, "");
  const Family* family = FindFamily(root, config);
  if (family == nullptr) return root.status();

  std::optional<ConfigFields> nested;
  if (family->nested) {
    nested = root.Object("text_config");
    if (!nested) root.Mismatch("text_config", "an object");
    config.tensor_prefix = kNestedTensorPrefix;
  }
  if (!root.status().ok()) return root.status();
  ConfigFields& text = nested ? *nested : root;
  ReadBody(text, config);
  ReadAttention(text, config);
  ReadRope(text, config);
  ReadExperts(text, config);
  ReadTokens(text, root, config);
  ConfigFields& quant = text.Has("quantization_config") ? text : root;
  config.quant = ReadQuantization(quant);
  CheckInt4Widths(text, config);
  STOKER_RETURN_IF_ERROR(text.status());
  STOKER_RETURN_IF_ERROR(root.status());
  return config;
}

absl::StatusOr<ModelConfig> LoadModelConfig(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_directory ? path / "config.json" : path;
  STOKER_ASSIGN_OR_RETURN(const std::string text, sys::ReadTextFile(file, kMaxConfigBytes));
  auto config = ParseModelConfig(text);
  if (!config.ok()) return At(file.string(), config.status());
  return config;
}

}  // namespace stoker::checkpoint
