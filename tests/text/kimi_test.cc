#include "text/kimi.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace stoker::text {
namespace {

std::string Repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(KimiCuts, ShortRunsAreNotCut) {
  EXPECT_TRUE(KimiCuts("").empty());
  EXPECT_TRUE(KimiCuts(std::string(25'000, 'a')).empty());
  EXPECT_TRUE(KimiCuts(Repeat("word and ", 20'000)).empty());
}

TEST(KimiCuts, ARunIsCutAfter25000Characters) {
  EXPECT_EQ(KimiCuts(std::string(25'001, 'a')), (std::vector<std::size_t>{25'000}));
  EXPECT_EQ(KimiCuts(std::string(50'001, ' ')), (std::vector<std::size_t>{25'000, 50'000}));
  EXPECT_EQ(KimiCuts("a " + Repeat("漢", 25'001)), (std::vector<std::size_t>{2 + 75'000}));
  EXPECT_TRUE(KimiCuts(std::string(25'000, 'a') + std::string(25'000, ' ')).empty());
}

TEST(KimiCuts, TextIsCutEvery400000Characters) {
  const std::string text = Repeat("é ", 250'000);
  EXPECT_EQ(KimiCuts(text), (std::vector<std::size_t>{600'000}));
  // The cut begins a new run, and the run's own cuts count from there.
  const std::string late = Repeat("a ", 195'000) + std::string(36'000, 'b');
  EXPECT_EQ(KimiCuts(late), (std::vector<std::size_t>{400'000, 425'000}));
}

}  // namespace
}  // namespace stoker::text
