#include "checkpoint/model_tensors.h"

#include <utility>

#include "fmt/format.h"

namespace stoker::checkpoint {
namespace {

using tensor::DType;
using tensor::Fp8Blocks;
using tensor::WeightFormat;

WeightFormat PlainFormat(const ModelConfig& config) {
  if (config.dtype == DType::kF32) return WeightFormat::kF32;
  return config.dtype == DType::kF16 ? WeightFormat::kF16 : WeightFormat::kBf16;
}

DType PlainDType(WeightFormat format) {
  if (format == WeightFormat::kF32) return DType::kF32;
  return format == WeightFormat::kF16 ? DType::kF16 : DType::kBf16;
}

// Which matrices are quantised, as the published checkpoints have it: INT4 the routed experts alone
// (Kimi K2-Thinking and later), FP8 every linear layer but router and head (DeepSeek-V3).
WeightFormat FormatOf(const ModelConfig& config, WeightClass weight_class) {
  switch (weight_class) {
    case WeightClass::kRoutedExperts:
      if (config.quant == QuantMethod::kInt4PackQuantized) return WeightFormat::kInt4Group32;
      [[fallthrough]];
    case WeightClass::kAttention:
    case WeightClass::kDenseMlp:
    case WeightClass::kSharedExperts:
      if (config.quant == QuantMethod::kFp8Block) return WeightFormat::kFp8Block128;
      [[fallthrough]];
    case WeightClass::kEmbedding:
    case WeightClass::kRouter:
    case WeightClass::kNorms:
    case WeightClass::kHead:
      return PlainFormat(config);
  }
  return PlainFormat(config);
}

// Collects the tensors under one prefix.
class TensorList {
 public:
  TensorList(const ModelConfig& config, std::string prefix)
      : config_(config), prefix_(std::move(prefix)) {}

  void Matrix(std::string_view name, WeightClass weight_class, std::size_t rows, std::size_t cols) {
    tensors_.push_back({fmt::format("{}{}", prefix_, name), weight_class, rows, cols,
                        FormatOf(config_, weight_class)});
  }
  void Norm(std::string_view name, std::size_t size) { Matrix(name, WeightClass::kNorms, size, 0); }
  void Float32(std::string_view name, WeightClass weight_class, std::size_t size) {
    tensors_.push_back(
        {fmt::format("{}{}", prefix_, name), weight_class, size, 0, WeightFormat::kF32});
  }
  void Mlp(std::string_view name, WeightClass weight_class, std::size_t width) {
    Matrix(fmt::format("{}.gate_proj", name), weight_class, width, config_.hidden);
    Matrix(fmt::format("{}.up_proj", name), weight_class, width, config_.hidden);
    Matrix(fmt::format("{}.down_proj", name), weight_class, config_.hidden, width);
  }
  std::vector<ModelTensor> Take() { return std::move(tensors_); }

 private:
  const ModelConfig& config_;
  std::string prefix_;
  std::vector<ModelTensor> tensors_;
};

}  // namespace

std::string_view Name(WeightClass weight_class) {
  switch (weight_class) {
    case WeightClass::kEmbedding:
      return "embedding";
    case WeightClass::kAttention:
      return "attention";
    case WeightClass::kDenseMlp:
      return "dense MLP";
    case WeightClass::kSharedExperts:
      return "shared experts";
    case WeightClass::kRoutedExperts:
      return "routed experts";
    case WeightClass::kRouter:
      return "router";
    case WeightClass::kNorms:
      return "norms";
    case WeightClass::kHead:
      return "head";
  }
  return "?";
}

std::uint64_t ModelTensor::bytes() const {
  switch (format) {
    case WeightFormat::kF32:
      return parameters() * 4;
    case WeightFormat::kF16:
    case WeightFormat::kBf16:
      return parameters() * 2;
    case WeightFormat::kFp8Block128:
      return parameters() + Fp8Blocks(rows) * Fp8Blocks(cols) * 4;
    case WeightFormat::kInt4Group32:
      return parameters() / 2 + rows * (cols / tensor::kInt4Group) * 2;
  }
  return 0;
}

std::vector<ModelTensor> OuterTensors(const ModelConfig& config) {
  TensorList list(config, "");
  list.Matrix("model.embed_tokens", WeightClass::kEmbedding, config.vocab, config.hidden);
  list.Norm("model.norm", config.hidden);
  if (!config.tied_embeddings) {
    list.Matrix("lm_head", WeightClass::kHead, config.vocab, config.hidden);
  }
  return list.Take();
}

std::vector<ModelTensor> LayerTensors(const ModelConfig& config, LayerId layer) {
  TensorList list(config, fmt::format("model.layers.{}.", Index(layer)));
  const auto attention = WeightClass::kAttention;
  const std::size_t q_rows = config.heads * (config.qk_nope_dim + config.qk_rope_dim);
  const std::size_t kv_rows = config.heads * (config.qk_nope_dim + config.v_head_dim);
  list.Norm("input_layernorm", config.hidden);
  if (config.q_lora_rank > 0) {
    list.Matrix("self_attn.q_a_proj", attention, config.q_lora_rank, config.hidden);
    list.Norm("self_attn.q_a_layernorm", config.q_lora_rank);
    list.Matrix("self_attn.q_b_proj", attention, q_rows, config.q_lora_rank);
  } else {
    list.Matrix("self_attn.q_proj", attention, q_rows, config.hidden);
  }
  list.Matrix("self_attn.kv_a_proj_with_mqa", attention, config.kv_lora_rank + config.qk_rope_dim,
              config.hidden);
  list.Norm("self_attn.kv_a_layernorm", config.kv_lora_rank);
  list.Matrix("self_attn.kv_b_proj", attention, kv_rows, config.kv_lora_rank);
  list.Matrix("self_attn.o_proj", attention, config.hidden, config.heads * config.v_head_dim);
  list.Norm("post_attention_layernorm", config.hidden);
  if (!config.IsMoe(layer)) {
    list.Mlp("mlp", WeightClass::kDenseMlp, config.dense_width);
    return list.Take();
  }
  list.Matrix("mlp.gate", WeightClass::kRouter, config.router.experts, config.hidden);
  list.Float32("mlp.gate.e_score_correction_bias", WeightClass::kRouter, config.router.experts);
  if (config.shared_experts > 0) {
    list.Mlp("mlp.shared_experts", WeightClass::kSharedExperts, config.shared_width());
  }
  return list.Take();
}

std::vector<ModelTensor> ExpertTensors(const ModelConfig& config, ExpertId expert) {
  TensorList list(config, fmt::format("model.layers.{}.mlp.experts.", Index(expert.layer)));
  list.Mlp(fmt::format("{}", expert.expert), WeightClass::kRoutedExperts, config.expert_width);
  return list.Take();
}

std::vector<TensorSpec> StoredTensors(const ModelConfig& config, const ModelTensor& weight) {
  const auto named = [&](std::string_view suffix) {
    return fmt::format("{}{}{}", config.tensor_prefix, weight.name, suffix);
  };
  const std::size_t rows = weight.rows;
  const std::size_t cols = weight.cols;
  switch (weight.format) {
    case WeightFormat::kInt4Group32:
      return {{named(".weight_packed"), DType::kI32, {rows, cols / tensor::kInt4PerWord}},
              {named(".weight_scale"), DType::kBf16, {rows, cols / tensor::kInt4Group}},
              {named(".weight_shape"), DType::kI32, {2}}};
    case WeightFormat::kFp8Block128:
      return {{named(".weight"), DType::kF8E4M3, {rows, cols}},
              {named(".weight_scale_inv"), DType::kF32, {Fp8Blocks(rows), Fp8Blocks(cols)}}};
    case WeightFormat::kF32:
    case WeightFormat::kF16:
    case WeightFormat::kBf16:
      break;
  }
  const DType dtype = PlainDType(weight.format);
  if (cols > 0) return {{named(".weight"), dtype, {rows, cols}}};
  // The router's bias is the one weight whose name has no ".weight".
  const bool bias = weight.weight_class == WeightClass::kRouter;
  return {{named(bias ? "" : ".weight"), dtype, {rows}}};
}

}  // namespace stoker::checkpoint
