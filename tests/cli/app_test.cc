#include "cli/app.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

using testing::HasSubstr;

struct Result {
  int exit_code;
  std::string output;
  std::string error;
};

Result Stoker(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "stoker");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = RunApp(static_cast<int>(arguments.size()), arguments.data());
  std::string error = testing::internal::GetCapturedStderr();
  return {exit_code, testing::internal::GetCapturedStdout(), std::move(error)};
}

TEST(App, AnUnknownOptionIsAnErrorWithASuggestion) {
  const Result result = Stoker({"inspect", "model", "--jsno"});
  EXPECT_EQ(result.exit_code, kUsageExitCode);
  EXPECT_EQ(result.error, "stoker: error: unknown option --jsno; did you mean --json?\n");
}

TEST(App, AnUnknownOptionIsNamedBeforeAMissingArgument) {
  EXPECT_THAT(Stoker({"inspect", "--jsno"}).error, HasSubstr("did you mean --json?"));
}

TEST(App, AnUnknownCommandIsAnErrorWithASuggestion) {
  const Result result = Stoker({"inspct", "model"});
  EXPECT_EQ(result.exit_code, kUsageExitCode);
  EXPECT_EQ(result.error, "stoker: error: unknown command \"inspct\"; did you mean inspect?\n");
  EXPECT_THAT(Stoker({"bench", "decoed"}).error, HasSubstr("did you mean decode?"));
}

TEST(App, HelpIsAlsoACommand) {
  EXPECT_EQ(Stoker({"help", "bench", "decode"}).output,
            Stoker({"bench", "decode", "--help"}).output);
  EXPECT_THAT(Stoker({"help"}).output, HasSubstr("make-checkpoint"));
}

TEST(App, AMissingArgumentIsNamed) {
  const Result result = Stoker({"inspect"});
  EXPECT_EQ(result.exit_code, kUsageExitCode);
  EXPECT_THAT(result.error, HasSubstr("MODEL is required; see stoker inspect --help"));
}

TEST(App, ABadValueNamesItsOption) {
  EXPECT_THAT(Stoker({"inspect", "m", "--threads", "many"}).error,
              HasSubstr("--threads: \"many\" is not a whole number"));
  EXPECT_EQ(Stoker({"inspect", "m", "--threads", "5000"}).exit_code, kUsageExitCode);
  EXPECT_EQ(Stoker({"inspect", "m", "--isa", "avx9000"}).exit_code, kUsageExitCode);
  EXPECT_EQ(Stoker({"inspect", "m", "--log-level", "loud"}).exit_code, kUsageExitCode);
}

TEST(App, AFailureIsOneLineAndAnotherExitCode) {
  const Result result = Stoker({"inspect", "/nonexistent\nmodel"});
  EXPECT_EQ(result.exit_code, kFailureExitCode);
  EXPECT_THAT(result.error, testing::StartsWith("stoker: error: "));
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1);
}

TEST(App, HelpAndVersionGoToStandardOutput) {
  const Result version = Stoker({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, testing::StartsWith("stoker "));
  const Result help = Stoker({"bench", "decode", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("usage: stoker bench decode MODEL [options]"));
  EXPECT_THAT(help.output, HasSubstr("--batch N,N"));
  EXPECT_THAT(help.output, HasSubstr("--threads N"));
}

TEST(App, NothingAtAllPrintsHelpAsAUsageError) {
  const Result result = Stoker({});
  EXPECT_EQ(result.exit_code, kUsageExitCode);
  EXPECT_THAT(result.error, HasSubstr("commands:"));
}

TEST(App, AValueThatWasForgottenDoesNotSwallowTheNextOption) {
  const Result result = Stoker({"run", "m", "-p", "--json"});
  EXPECT_EQ(result.exit_code, kUsageExitCode);
  EXPECT_EQ(result.error,
            "stoker: error: -p needs a value, but --json follows; if that is meant, write "
            "--prompt=--json\n");
  EXPECT_EQ(Stoker({"run", "m", "--stop", "--greedy"}).exit_code, kUsageExitCode);
  EXPECT_THAT(Stoker({"run", "m", "--prompt=", "--jsno"}).error, HasSubstr("--json?"));
}

TEST(App, OneCommandAtATime) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"inspect", "m", "tokenize", "m", "-p", "x"},
        {"bench", "decode", "m", "prefill", "m"},
        {"run", "m", "inspect", "m", "-p", "x"}}) {
    const Result result = Stoker(words);
    EXPECT_EQ(result.exit_code, kUsageExitCode);
    EXPECT_THAT(result.error, HasSubstr("unexpected argument"));
  }
}

TEST(App, LogprobsAreForJson) {
  EXPECT_EQ(Stoker({"run", "m", "-p", "x", "--logprobs", "5"}).exit_code, kUsageExitCode);
}

TEST(App, NumbersThatOverflowAreUsageErrors) {
  constexpr const char* kMost = "18446744073709551615";
  EXPECT_EQ(Stoker({"bench", "decode", "m", "--whole-model-layers", kMost}).exit_code,
            kUsageExitCode);
  EXPECT_EQ(Stoker({"run", "m", "-p", "x", "-n", "0"}).exit_code, kUsageExitCode);
  EXPECT_EQ(Stoker({"run", "m", "-p", "x", "--context", "0"}).exit_code, kUsageExitCode);
  EXPECT_EQ(Stoker({"run", "m", "-p", "x", "--prefill-chunk", kMost}).exit_code, kUsageExitCode);
}

TEST(App, IdsToDecodeAreAList) {
  for (const char* ids : {"", "1,,2", "1,", "[1", "x", "-1", "99999999999"}) {
    EXPECT_EQ(Stoker({"tokenize", "m", "--decode", ids}).exit_code, kUsageExitCode) << ids;
  }
}

TEST(App, OptionsOfEveryCommandMayComeBeforeIt) {
  EXPECT_EQ(Stoker({"--log-level", "loud", "inspect", "m"}).exit_code, kUsageExitCode);
}

}  // namespace
}  // namespace stoker::cli
