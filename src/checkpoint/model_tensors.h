#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"
#include "tensor/linear_weight.h"

namespace stoker::checkpoint {

/// What a weight is for.
enum class WeightClass : std::uint8_t {
  kEmbedding,
  kAttention,
  kDenseMlp,
  kSharedExperts,
  kRoutedExperts,
  kRouter,
  kNorms,
  kHead,
};

inline constexpr std::array kWeightClasses = {
    WeightClass::kEmbedding,     WeightClass::kAttention,     WeightClass::kDenseMlp,
    WeightClass::kSharedExperts, WeightClass::kRoutedExperts, WeightClass::kRouter,
    WeightClass::kNorms,         WeightClass::kHead,
};

/// "routed experts": lower case, for tables.
std::string_view Name(WeightClass weight_class);

/// One weight of the model: a matrix [rows, cols], or a vector [rows] where cols is 0.
struct ModelTensor {
  std::string name;  ///< without the config's prefix and without ".weight"
  WeightClass weight_class = WeightClass::kNorms;
  std::size_t rows = 0;
  std::size_t cols = 0;
  tensor::WeightFormat format = tensor::WeightFormat::kBf16;

  [[nodiscard]] std::uint64_t parameters() const { return rows * (cols == 0 ? 1 : cols); }
  /// Bytes of its values and scales.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// The weights outside the layers: embedding, final norm, and the head unless it is tied.
std::vector<ModelTensor> OuterTensors(const ModelConfig& config);

/// The weights of a layer but for its routed experts.
std::vector<ModelTensor> LayerTensors(const ModelConfig& config, LayerId layer);

/// The three matrices of a routed expert: gate, up, down.
std::vector<ModelTensor> ExpertTensors(const ModelConfig& config, ExpertId expert);

/// The tensors that store `weight` in a checkpoint, with the config's prefix: one, or two (FP8:
/// codes, scales), or three (INT4: words, scales, shape).
std::vector<TensorSpec> StoredTensors(const ModelConfig& config, const ModelTensor& weight);

}  // namespace stoker::checkpoint
