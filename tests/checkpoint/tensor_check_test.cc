#include "checkpoint/tensor_check.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

/// A copy of a whole small checkpoint, whose config.json a test then changes.
class TensorCheckTest : public ::testing::Test {
 protected:
  void Copy(const std::string& variant) {
    fs::copy(testing::SourcePath("tests/golden/oracle/" + variant), dir_.path());
  }

  template <typename Value>
  void Set(const std::string& key, Value value) {
    json config = json::parse(std::ifstream(dir_ / "config.json"));
    ASSERT_TRUE(config.contains(key));
    config[key] = value;
    std::ofstream(dir_ / "config.json") << config;
  }

  [[nodiscard]] std::string Error() const {
    const auto checkpoint = Checkpoint::Open(dir_.path());
    if (!checkpoint.ok()) return std::string(checkpoint.status().message());
    return std::string(CheckTensors(*checkpoint).message());
  }

  testing::ScratchDir dir_;
};

TEST_F(TensorCheckTest, EveryFormatsOwnTensorsPass) {
  for (const auto& variant : fs::directory_iterator(testing::SourcePath("tests/golden/oracle"))) {
    if (!variant.is_directory()) continue;
    const auto checkpoint = Checkpoint::Open(variant.path());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_TRUE(CheckTensors(*checkpoint).ok()) << CheckTensors(*checkpoint);
  }
}

TEST_F(TensorCheckTest, ALayerThatTheConfigDoesNotKnowIsNamed) {
  Copy("bf16_q_lora_yarn");
  const json config = json::parse(std::ifstream(dir_ / "config.json"));
  const int layers = config["num_hidden_layers"];
  Set("num_hidden_layers", layers - 1);
  EXPECT_THAT(Error(), HasSubstr("has no tensor \"model.layers." + std::to_string(layers - 1)));
  EXPECT_THAT(Error(), HasSubstr("such tensors); is it the config.json of these weights?"));
}

TEST_F(TensorCheckTest, SharedExpertsThatTheConfigDeniesAreNamed) {
  Copy("bf16_q_lora_yarn");
  Set("n_shared_experts", 0);
  EXPECT_THAT(Error(), HasSubstr("mlp.shared_experts"));
}

TEST_F(TensorCheckTest, AHeadBesideTiedEmbeddingsIsNamed) {
  Copy("bf16_q_lora_yarn");
  Set("tie_word_embeddings", true);
  EXPECT_THAT(Error(), HasSubstr("has no tensor \"lm_head.weight\" (1 such"));
}

TEST_F(TensorCheckTest, AMissingTensorIsNamed) {
  Copy("bf16_q_lora_yarn");
  const json config = json::parse(std::ifstream(dir_ / "config.json"));
  const int layers = config["num_hidden_layers"];
  Set("num_hidden_layers", layers + 1);
  EXPECT_THAT(Error(), HasSubstr("there is no tensor \"model.layers." + std::to_string(layers)));
}

}  // namespace
}  // namespace stoker::checkpoint
