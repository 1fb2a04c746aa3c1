#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "tensor/dtype.h"

namespace stoker::checkpoint {

/// YaRN context extension, as `rope_scaling` or `rope_parameters` gives it.
struct YarnConfig {
  double factor = 1.0;
  double original_max_positions = 4096;
  double beta_fast = 32;
  double beta_slow = 1;
  double mscale = 1.0;
  double mscale_all_dim = 0.0;

  friend bool operator==(const YarnConfig&, const YarnConfig&) = default;
};

/// How the routed experts are chosen (DeepSeek-V3, arXiv 2412.19437, section 2.1.2).
struct RouterConfig {
  std::size_t experts = 0;
  std::size_t top_k = 0;
  std::size_t groups = 1;
  std::size_t top_groups = 1;
  bool normalise_weights = true;  ///< norm_topk_prob
  double weight_scale = 1.0;      ///< routed_scaling_factor

  friend bool operator==(const RouterConfig&, const RouterConfig&) = default;
};

/// How the checkpoint's linear layers are quantised, from `quantization_config`.
enum class QuantMethod : std::uint8_t { kNone, kFp8Block, kInt4PackQuantized };

/// A DeepSeek-V3-architecture model (Kimi K2, K2.5, K2.6, DeepSeek-V3/R1, Moonlight): the fields of
/// config.json that the forward pass needs, validated: every size is positive, within limits, and
/// consistent with the others.
struct ModelConfig {
  std::string architecture;   ///< "DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration"
  std::string model_type;     ///< "kimi_k2", "deepseek_v3", "kimi_k25"
  std::string tensor_prefix;  ///< "" or "language_model."
  std::size_t layers = 0;
  std::size_t hidden = 0;
  std::size_t vocab = 0;
  std::size_t max_positions = 0;
  double rms_norm_eps = 1e-6;
  bool tied_embeddings = false;

  std::size_t heads = 0;
  std::size_t q_lora_rank = 0;  ///< 0: plain q_proj
  std::size_t kv_lora_rank = 0;
  std::size_t qk_nope_dim = 0;
  std::size_t qk_rope_dim = 0;
  std::size_t v_head_dim = 0;
  double rope_theta = 10000;
  std::optional<YarnConfig> yarn;

  std::size_t dense_layers = 0;  ///< first_k_dense_replace
  std::size_t dense_width = 0;   ///< intermediate_size
  std::size_t expert_width = 0;  ///< moe_intermediate_size
  std::size_t shared_experts = 0;
  RouterConfig router;

  QuantMethod quant = QuantMethod::kNone;
  tensor::DType dtype = tensor::DType::kBf16;  ///< of the weights that are not quantised
  std::vector<TokenId> end_tokens;             ///< eos_token_id of config.json, one or several
  std::optional<TokenId> begin_token;

  /// Multi-token-prediction layers that follow layer `layers - 1` in the checkpoint
  /// (num_nextn_predict_layers); Stoker leaves them out.
  std::size_t mtp_layers = 0;

  [[nodiscard]] bool IsMoe(LayerId layer) const { return Index(layer) >= dense_layers; }
  [[nodiscard]] std::size_t shared_width() const { return shared_experts * expert_width; }

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Reads the text of a config.json, flat or nested under `text_config`.
/// Errors: kInvalidArgument naming the key, what was found and what is accepted; kUnimplemented for
/// an architecture or a feature that Stoker does not run.
absl::StatusOr<ModelConfig> ParseModelConfig(std::string_view json_text);

/// Reads DIR/config.json, or the file itself. Errors: as ParseModelConfig, with the file's name.
absl::StatusOr<ModelConfig> LoadModelConfig(const std::filesystem::path& path);

/// The text of a config.json that ParseModelConfig reads back as `config`.
std::string FormatModelConfig(const ModelConfig& config);

}  // namespace stoker::checkpoint
