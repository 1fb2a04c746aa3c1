#include "text/segment.h"

#include "gtest/gtest.h"

namespace stoker::text {
namespace {

TEST(Segment, NeighboursOfOneOriginBecomeOneSegment) {
  RenderedPrompt prompt;
  prompt.Append("<|im_", true);
  prompt.Append("user|>", true);
  prompt.Append("", false);
  prompt.Append("<|im_end|>", false);
  prompt.Append("<|im_end|>", true);
  EXPECT_EQ(
      prompt.segments,
      (std::vector<Segment>{{"<|im_user|>", true}, {"<|im_end|>", false}, {"<|im_end|>", true}}));
  EXPECT_EQ(prompt.Text(), "<|im_user|><|im_end|><|im_end|>");
}

}  // namespace
}  // namespace stoker::text
