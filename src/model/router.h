#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/model_config.h"

namespace stoker::model {

/// Buffers of RouteToken, kept between calls.
struct RouterScratch {
  std::vector<float> probability;         // [experts]
  std::vector<float> choice_score;        // [experts]
  std::vector<float> group_score;         // [groups]
  std::vector<std::int32_t> kept_groups;  // [top_groups]
};

/// Chooses a token's experts: DeepSeek-V3's auxiliary-loss-free gate (arXiv 2412.19437, section
/// 2.1.2; transformers, models/deepseek_v3). p = sigmoid(logits); c = p + bias selects, p weighs.
/// With groups, a group's score is the sum of its two best c, and only experts of the best
/// `top_groups` groups can be chosen; these must hold at least top_k experts. (transformers before
/// version 5 gave the others score 0 instead, which differs only where a kept c is negative.)
/// Weights are p over the chosen, divided by their sum + 1e-20 where the config says so, times
/// weight_scale. Best first; ties go to the lower index. Pure.
///
/// logits, bias: [experts]; ids, weights: [top_k], written.
void RouteToken(std::span<const float> logits, std::span<const float> bias,
                const checkpoint::RouterConfig& config, RouterScratch& scratch,
                std::span<std::int32_t> ids, std::span<float> weights);

}  // namespace stoker::model
