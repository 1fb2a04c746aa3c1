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
/// With groups, a group's score is the sum of its two best c, and experts outside the best
/// `top_groups` groups have their c replaced by 0, as in transformers (a negative c inside a kept
/// group can therefore lose to them). Weights are p over the chosen, divided by their sum + 1e-20
/// where the config says so, times weight_scale. Best first; ties go to the lower index. Pure.
///
/// logits, bias: [experts]; ids, weights: [top_k], written.
void RouteToken(std::span<const float> logits, std::span<const float> bias,
                const checkpoint::RouterConfig& config, RouterScratch& scratch,
                std::span<std::int32_t> ids, std::span<float> weights);

}  // namespace stoker::model
