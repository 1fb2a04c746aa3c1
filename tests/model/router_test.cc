#include "model/router.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "gtest/gtest.h"

namespace stoker::model {
namespace {

using checkpoint::RouterConfig;

struct Routing {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Routing Route(const RouterConfig& config, std::vector<float> logits, std::vector<float> bias = {}) {
  bias.resize(config.experts);
  Routing routing = {std::vector<std::int32_t>(config.top_k), std::vector<float>(config.top_k)};
  RouterScratch scratch;
  RouteToken(logits, bias, config, scratch, routing.ids, routing.weights);
  return routing;
}

float Sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

TEST(Router, TakesTheBestAndNormalisesTheirWeights) {
  const RouterConfig config = {.experts = 4, .top_k = 2, .weight_scale = 2.5};
  const Routing routing = Route(config, {0.0F, 3.0F, -1.0F, 1.0F});
  EXPECT_EQ(routing.ids, (std::vector<std::int32_t>{1, 3}));
  const float sum = Sigmoid(3.0F) + Sigmoid(1.0F);
  EXPECT_FLOAT_EQ(routing.weights[0], Sigmoid(3.0F) / sum * 2.5F);
  EXPECT_FLOAT_EQ(routing.weights[1], Sigmoid(1.0F) / sum * 2.5F);
}

TEST(Router, BiasSelectsButDoesNotWeigh) {
  const RouterConfig config = {.experts = 3, .top_k = 1, .normalise_weights = false};
  const Routing routing = Route(config, {2.0F, 1.0F, 0.0F}, {0.0F, 0.0F, 5.0F});
  EXPECT_EQ(routing.ids[0], 2);
  EXPECT_FLOAT_EQ(routing.weights[0], 0.5F);
}

TEST(Router, TiesGoToTheLowerIndex) {
  const RouterConfig config = {.experts = 5, .top_k = 3};
  EXPECT_EQ(Route(config, {1, 1, 1, 1, 1}).ids, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Router, OnlyTheBestGroupsTakePart) {
  // Groups {0, 1}, {2, 3}, {4, 5}: the sums of two favour the last two groups, although expert 0 is
  // the single best.
  const RouterConfig config = {.experts = 6, .top_k = 2, .groups = 3, .top_groups = 2};
  const Routing routing = Route(config, {4.0F, -9.0F, 1.0F, 1.1F, 0.9F, 0.8F});
  EXPECT_EQ(routing.ids, (std::vector<std::int32_t>{3, 2}));
}

TEST(Router, ExpertsOutsideTheGroupsAreNeverChosen) {
  // Even where every kept score is below zero.
  const RouterConfig config = {.experts = 4, .top_k = 2, .groups = 2, .top_groups = 1};
  const Routing routing = Route(config, {0, 0, 0, 0}, {-3.0F, -3.0F, -2.0F, -2.0F});
  EXPECT_EQ(routing.ids, (std::vector<std::int32_t>{2, 3}));
}

TEST(Router, NotANumberDoesNotCrashAndReachesTheWeights) {
  const RouterConfig config = {.experts = 3, .top_k = 3};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Routing routing = Route(config, {nan, 1.0F, 2.0F});
  EXPECT_EQ(routing.ids, (std::vector<std::int32_t>{2, 1, 0}));
  EXPECT_TRUE(std::isnan(routing.weights[0])) << "the sum that divides every weight";
}

}  // namespace
}  // namespace stoker::model
