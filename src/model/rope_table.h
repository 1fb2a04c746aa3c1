#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "checkpoint/model_config.h"
#include "tensor/view.h"

namespace stoker::model {

/// Angular frequencies of the `dim / 2` rotated pairs, YaRN applied (arXiv 2309.00071; exact form:
/// vLLM, deepseek_scaling_rope.py). Radians a position.
std::vector<double> RopeFrequencies(std::size_t dim, double theta,
                                    const std::optional<checkpoint::YarnConfig>& yarn);

/// YaRN's magnitude m(s, k) = 0.1 k ln s + 1, or 1 where s <= 1.
double YarnMagnitude(double scale, double mscale);

/// The factor of attention scores: (nope + rope)^-1/2 times m(factor, mscale_all_dim)^2.
double SoftmaxScale(const checkpoint::ModelConfig& config);

/// Cosines and sines of every position up to a context length.
class RopeTable {
 public:
  /// Positions [0, positions), of the config's theta and YaRN.
  RopeTable(const checkpoint::ModelConfig& config, std::size_t positions);

  [[nodiscard]] tensor::MatrixView<const float> cos() const {
    return {cos_.data(), positions_, pairs_};
  }
  [[nodiscard]] tensor::MatrixView<const float> sin() const {
    return {sin_.data(), positions_, pairs_};
  }

 private:
  std::size_t positions_;
  std::size_t pairs_;
  std::vector<float> cos_;  // [positions, pairs]
  std::vector<float> sin_;
};

}  // namespace stoker::model
