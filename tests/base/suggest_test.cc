#include "base/suggest.h"

#include "gtest/gtest.h"

namespace stoker {
namespace {

TEST(Suggest, FindsTheLikelySlip) {
  const std::vector<std::string> options = {"--threads", "--isa", "--json"};
  EXPECT_EQ(Nearest("--thread", options), "--threads");
  EXPECT_EQ(Nearest("--jsno", options), "--json");
  EXPECT_EQ(DidYouMean("--ias", options), "; did you mean --isa?");
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(DidYouMean("--frobnicate", {"--isa", "--json"}), "");
  EXPECT_EQ(Nearest(std::string(1'000'000, 'x'), {"--isa"}), "");
}

}  // namespace
}  // namespace stoker
