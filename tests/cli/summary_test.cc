#include "cli/summary.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

// 100 new prompt tokens in 2 s; 10 steps of 1 GB in 1 s, with what lies between them in 1.25 s; the
// machine reads 12.5 GB/s.
Summary Example() {
  return {.stats = {.finish = engine::FinishReason::kStop,
                    .prompt_tokens = 120,
                    .cached_tokens = 20,
                    .answer_tokens = 11,
                    .decode_steps = 10,
                    .prefill_seconds = 2.0,
                    .decode_seconds = 1.0,
                    .decode_bytes = 10'000'000'000},
          .answer_seconds = 1.25,
          .load_seconds = 3.0,
          .peak_bytes_per_s = 12.5e9};
}

TEST(Summary, CachedTokensDoNotCountAsSpeed) {
  EXPECT_DOUBLE_EQ(PrefillTokPerS(Example().stats), 50.0);
}

TEST(Summary, TheShareIsOfTheMeasuredPeak) {
  EXPECT_DOUBLE_EQ(ShareOfPeak(Example()).value(), 0.8);
  Summary unmeasured = Example();
  unmeasured.peak_bytes_per_s.reset();
  EXPECT_EQ(ShareOfPeak(unmeasured), std::nullopt);
}

TEST(Summary, OneLineSaysItAll) {
  EXPECT_EQ(SummaryLine(Example()),
            "120 tokens in (20 cached), 50.0 tok/s; 11 out, 8.0 tok/s; 10.00 GB/s, 80 % of this "
            "machine's 12.5 GB/s");
}

TEST(Summary, AnAnswerOfOneTokenHasNoDecodeSpeed) {
  Summary summary = Example();
  summary.stats.answer_tokens = 1;
  summary.stats.decode_steps = 0;
  summary.stats.decode_seconds = 0.0;
  summary.stats.decode_bytes = 0;
  EXPECT_EQ(SummaryLine(summary), "120 tokens in (20 cached), 50.0 tok/s; 1 out");
}

TEST(Summary, JsonHasTheSameFigures) {
  const nlohmann::ordered_json json = SummaryJson(Example());
  EXPECT_EQ(json["prefill_tok_per_s"], 50.0);
  EXPECT_EQ(json["decode_s"], 1.25);
  EXPECT_EQ(json["decode_tok_per_s"], 8.0);
  EXPECT_EQ(json["decode_step_s"], 1.0);
  EXPECT_EQ(json["decode_gb_per_s"], 10.0);
  EXPECT_EQ(json["share_of_peak"], 0.8);
}

}  // namespace
}  // namespace stoker::cli
