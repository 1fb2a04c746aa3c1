#include "model/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stoker::model {
namespace {

constexpr float kTaken = -std::numeric_limits<float>::infinity();

// Writes the indices of the best `ids.size()` scores, best first, ties to the lower index.
// Selection by repeated scan: k is small, and the order is plain to see.
void TakeBest(std::span<float> scores, std::span<std::int32_t> ids) {
  for (std::int32_t& id : ids) {
    const auto best = std::max_element(scores.begin(), scores.end());
    id = static_cast<std::int32_t>(best - scores.begin());
    *best = kTaken;
  }
}

float SumOfTwoBest(std::span<const float> scores) {
  float best = kTaken;
  float second = kTaken;
  for (const float score : scores) {
    if (score > best) {
      second = best;
      best = score;
    } else if (score > second) {
      second = score;
    }
  }
  return scores.size() > 1 ? best + second : best;
}

// Takes experts outside the best groups out of the choice.
void MaskGroups(const checkpoint::RouterConfig& config, RouterScratch& scratch) {
  const std::size_t group_size = config.experts / config.groups;
  scratch.group_score.resize(config.groups);
  const std::span<float> scores(scratch.choice_score);
  for (std::size_t group = 0; group < config.groups; ++group) {
    scratch.group_score[group] = SumOfTwoBest(scores.subspan(group * group_size, group_size));
  }
  std::vector<std::int32_t>& kept = scratch.kept_groups;
  kept.resize(config.top_groups);
  TakeBest(scratch.group_score, kept);
  for (std::size_t group = 0; group < config.groups; ++group) {
    if (std::ranges::find(kept, static_cast<std::int32_t>(group)) != kept.end()) continue;
    std::ranges::fill(scores.subspan(group * group_size, group_size), kTaken);
  }
}

}  // namespace

void RouteToken(std::span<const float> logits, std::span<const float> bias,
                const checkpoint::RouterConfig& config, RouterScratch& scratch,
                std::span<std::int32_t> ids, std::span<float> weights) {
  scratch.probability.resize(config.experts);
  scratch.choice_score.resize(config.experts);
  for (std::size_t expert = 0; expert < config.experts; ++expert) {
    const float probability = 1.0F / (1.0F + std::exp(-logits[expert]));
    scratch.probability[expert] = probability;
    // A NaN (of a logit: the bias is finite) must not reach the comparisons below; it still reaches
    // the weights, and from there the logits, where the request is failed.
    const float score = probability + bias[expert];
    scratch.choice_score[expert] = std::isnan(score) ? std::numeric_limits<float>::lowest() : score;
  }
  if (config.groups > 1) MaskGroups(config, scratch);
  TakeBest(scratch.choice_score, ids);

  float sum = 0.0F;
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    weights[slot] = scratch.probability[static_cast<std::size_t>(ids[slot])];
    sum += weights[slot];
  }
  const float scale = static_cast<float>(config.weight_scale);
  for (float& weight : weights) {
    if (config.normalise_weights) weight /= sum + 1e-20F;
    weight *= scale;
  }
}

}  // namespace stoker::model
