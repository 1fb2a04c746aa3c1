#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stoker::model {
namespace {

// The pair whose wavelength makes `rotations` turns within the original context.
double CorrectionPair(double rotations, double dim, double theta, double original_positions) {
  return dim * std::log(original_positions / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(theta));
}

}  // namespace

double YarnMagnitude(double scale, double mscale) {
  return scale <= 1.0 ? 1.0 : 0.1 * mscale * std::log(scale) + 1.0;
}

std::vector<double> RopeFrequencies(std::size_t dim, double theta,
                                    const std::optional<checkpoint::YarnConfig>& yarn) {
  const auto d = static_cast<double>(dim);
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(theta, -2.0 * static_cast<double>(i) / d);
  }
  if (!yarn.has_value()) return frequencies;

  const double positions = yarn->original_max_positions;
  const double low =
      std::max(0.0, std::floor(CorrectionPair(yarn->beta_fast, d, theta, positions)));
  double high = std::min(d - 1, std::ceil(CorrectionPair(yarn->beta_slow, d, theta, positions)));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] *= (1.0 - ramp) + ramp / yarn->factor;
  }
  return frequencies;
}

double SoftmaxScale(const checkpoint::ModelConfig& config) {
  double scale = 1.0 / std::sqrt(static_cast<double>(config.qk_nope_dim + config.qk_rope_dim));
  if (config.yarn.has_value() && config.yarn->mscale_all_dim != 0.0) {
    const double magnitude = YarnMagnitude(config.yarn->factor, config.yarn->mscale_all_dim);
    scale *= magnitude * magnitude;
  }
  return scale;
}

RopeTable::RopeTable(const checkpoint::ModelConfig& config, std::size_t positions)
    : positions_(positions), pairs_(config.qk_rope_dim / 2) {
  const std::vector<double> frequencies =
      RopeFrequencies(config.qk_rope_dim, config.rope_theta, config.yarn);
  double magnitude = 1.0;
  if (config.yarn.has_value()) {
    magnitude = YarnMagnitude(config.yarn->factor, config.yarn->mscale);
    if (config.yarn->mscale_all_dim != 0.0) {
      magnitude /= YarnMagnitude(config.yarn->factor, config.yarn->mscale_all_dim);
    }
  }
  cos_.resize(positions_ * pairs_);
  sin_.resize(positions_ * pairs_);
  for (std::size_t position = 0; position < positions_; ++position) {
    for (std::size_t pair = 0; pair < pairs_; ++pair) {
      const double angle = static_cast<double>(position) * frequencies[pair];
      cos_[position * pairs_ + pair] = static_cast<float>(std::cos(angle) * magnitude);
      sin_[position * pairs_ + pair] = static_cast<float>(std::sin(angle) * magnitude);
    }
  }
}

}  // namespace stoker::model
