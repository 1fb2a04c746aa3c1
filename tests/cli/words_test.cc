#include "cli/words.h"

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

using Strings = std::vector<std::string>;
using testing::HasSubstr;

// stoker [--threads N] run MODEL [-p TEXT] [-n N] [--json]
class Words : public testing::Test {
 protected:
  Words() {
    root_.add_option("--threads", text_);
    CLI::App& run = *root_.add_subcommand("run");
    run.add_option("MODEL", text_);
    run.add_option("-p,--prompt", text_);
    run.add_option("-n,--max-tokens", text_);
    run.add_flag("--json");
  }

  absl::StatusOr<Strings> Given(const Strings& words) { return GiveValues(root_, words); }

  CLI::App root_;
  std::string text_;
};

TEST_F(Words, AreLeftAsTheyAre) {
  for (const Strings& words : {Strings{}, Strings{"--threads", "2", "run", "m", "-p", "x y"},
                               Strings{"run", "m", "--prompt=x", "--json", "-n5"},
                               Strings{"run", "m", "--unknown", "--json"}, Strings{"run", "-p"},
                               Strings{"run", "m", "-p", "-"}, Strings{"run", "m", "-p", ""},
                               Strings{"run", "m", "-p", "- a list", "-n", "-5"},
                               Strings{"run", "--", "-p", "--json", "--prompt="}}) {
    EXPECT_EQ(Given(words).value(), words);
  }
}

TEST_F(Words, AnEmptyAttachedValueIsAValue) {
  EXPECT_EQ(Given({"run", "m", "--prompt=", "--json"}).value(),
            (Strings{"run", "m", "--prompt", "", "--json"}));
}

TEST_F(Words, AnOptionInThePlaceOfAValueIsAnError) {
  for (const Strings& words :
       {Strings{"run", "m", "-p", "--json"}, Strings{"run", "m", "-p", "-n", "5"},
        Strings{"run", "m", "--prompt", "--max-tokens=5"}}) {
    const auto given = Given(words);
    EXPECT_EQ(given.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(given.status())), HasSubstr(words[2] + " needs a value"));
    EXPECT_THAT(std::string(Message(given.status())), HasSubstr("write --prompt=" + words[3]));
  }
  // What is an option of another command only is a value.
  EXPECT_TRUE(Given({"run", "m", "-p", "--threads"}).ok());
  EXPECT_EQ(Given({"run", "m", "--prompt=--json"}).value(),
            (Strings{"run", "m", "--prompt=--json"}));
}

}  // namespace
}  // namespace stoker::cli
