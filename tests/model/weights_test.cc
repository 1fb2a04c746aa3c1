#include "model/weights.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/context.h"
#include "kernels/op_table.h"
#include "kv/paged_cache.h"
#include "model/deepseek_v3.h"
#include "nlohmann/json.hpp"
#include "sys/file.h"
#include "sys/thread_pool.h"
#include "sys/topology.h"
#include "tests/support/paths.h"

namespace stoker::model {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;
using nlohmann::json;
using ::testing::HasSubstr;

class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() : pool_(*sys::DetectTopology(), {.threads = 2, .pin = false}) {}

  [[nodiscard]] kernels::Context context() {
    return {.ops = &kernels::OpsFor(kernels::SupportedIsas().front()), .pool = &pool_};
  }

  absl::StatusOr<ModelWeights> Load(const fs::path& dir, const LoadOptions& options = {}) {
    STOKER_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(dir));
    return LoadWeights(checkpoint, context(), options);
  }

  // Logits of a few tokens, all positions.
  std::vector<float> Logits(const fs::path& dir) {
    auto checkpoint = Checkpoint::Open(dir);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
    auto weights = LoadWeights(*checkpoint, context(), {});
    EXPECT_TRUE(weights.ok()) << weights.status();
    DeepseekV3 model(checkpoint->config(), *std::move(weights), context(), 64);
    auto cache = kv::PagedCache::Create(model.CacheShape(kernels::KvDType::kBf16), 64);
    EXPECT_TRUE(cache.ok());
    kv::BlockTable blocks(*cache);
    const std::vector<TokenId> tokens = {TokenId{1}, TokenId{7}, TokenId{30}, TokenId{2}};
    EXPECT_TRUE(blocks.Reserve(tokens.size()).ok());
    const StepSequence step = {
        .tokens = tokens, .block_ids = blocks.block_ids(), .logits = LogitsWanted::kAll};
    const auto logits = model.Step({&step, 1}, *cache);
    EXPECT_TRUE(logits.ok()) << logits.status();
    std::vector<float> values;
    for (std::size_t row = 0; row < logits->rows; ++row) {
      values.insert(values.end(), logits->Row(row), logits->Row(row) + logits->cols);
    }
    return values;
  }

  sys::ThreadPool pool_;
};

fs::path Oracle(const std::string& variant) {
  return testing::SourcePath("tests/golden/oracle/" + variant);
}

// A checkpoint of one shard, in memory, to be changed and written.
class EditedCheckpoint {
 public:
  explicit EditedCheckpoint(const fs::path& dir)
      : config_(json::parse(std::ifstream(dir / "config.json"))) {
    const auto file = sys::MappedFile::Open(dir / "model.safetensors");
    const auto header = checkpoint::SafetensorsHeader::Parse(file->bytes());
    for (const checkpoint::TensorEntry& entry : header->tensors()) {
      const auto bytes = file->bytes().subspan(entry.offset, entry.bytes);
      tensors_[std::string(entry.name)] = {
          {std::string(entry.name), entry.dtype, {entry.shape.begin(), entry.shape.end()}},
          {bytes.begin(), bytes.end()}};
    }
  }

  struct Tensor {
    checkpoint::TensorSpec spec;
    std::vector<std::byte> bytes;
  };

  json& config() { return config_; }
  std::map<std::string, Tensor>& tensors() { return tensors_; }

  void Write(const fs::path& dir) const {
    std::ofstream(dir / "config.json") << config_;
    std::vector<checkpoint::TensorSpec> specs;
    for (const auto& [name, tensor] : tensors_) specs.push_back(tensor.spec);
    std::ofstream out(dir / "model.safetensors", std::ios::binary);
    out << checkpoint::FormatSafetensorsHeader(specs);
    for (const auto& [name, tensor] : tensors_) {
      out.write(reinterpret_cast<const char*>(tensor.bytes.data()),
                static_cast<std::streamsize>(tensor.bytes.size()));
    }
  }

 private:
  json config_;
  std::map<std::string, Tensor> tensors_;
};

TEST_F(WeightsTest, LoadedSizeIsTheWeightsSize) {
  const auto checkpoint = Checkpoint::Open(testing::SourcePath("models/demo"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto weights = LoadWeights(*checkpoint, context(), {});
  ASSERT_TRUE(weights.ok()) << weights.status();
  // The demo model's experts are so small that starting each at a page shows.
  const checkpoint::ModelConfig& config = checkpoint->config();
  const std::size_t alignment = config.layers * config.router.experts * 4096;
  EXPECT_LE(
      static_cast<double>(weights->loaded_bytes()),
      1.05 * static_cast<double>(checkpoint->tensor_bytes()) + static_cast<double>(alignment));
}

TEST_F(WeightsTest, AnExpertIsOneBlobThatStartsAtAPage) {
  const auto weights = Load(Oracle("int4_nested"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  const std::array<experts::ExpertDemand, 2> demands = {{{0, 1}, {3, 1}}};
  experts::ExpertLease lease = weights->experts->Acquire(LayerId{1}, demands);
  const auto ready = lease.Next();
  ASSERT_TRUE(ready.ok()) << ready.status();
  ASSERT_EQ(ready->size(), 2U);
  for (const experts::ReadyExpert& expert : *ready) {
    const kernels::MlpWeights& mlp = *expert.weights;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mlp.gate.data) % 4096, 0U);
    EXPECT_EQ(mlp.up.data, mlp.gate.data + mlp.gate.bytes());
    EXPECT_EQ(mlp.down.data, mlp.up.data + mlp.up.bytes());
  }
}

TEST_F(WeightsTest, TiedEmbeddingsAreHeldOnceAndAnswerAsTheSameHeadDoes) {
  EditedCheckpoint edited(Oracle("bf16_q_lora_yarn"));
  auto& tensors = edited.tensors();
  tensors.at("lm_head.weight").bytes = tensors.at("model.embed_tokens.weight").bytes;
  const testing::ScratchDir apart;
  edited.Write(apart.path());
  tensors.erase("lm_head.weight");
  edited.config()["tie_word_embeddings"] = true;
  const testing::ScratchDir tied;
  edited.Write(tied.path());
  const std::vector<float> expected = Logits(apart.path());
  const std::vector<float> logits = Logits(tied.path());
  ASSERT_EQ(logits.size(), expected.size());
  EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0);
  const auto two = Load(apart.path());
  const auto one = Load(tied.path());
  ASSERT_TRUE(two.ok() && one.ok());
  EXPECT_EQ(one->head.data, one->embedding.data);
  EXPECT_LT(one->loaded_bytes(), two->loaded_bytes());
}

TEST_F(WeightsTest, ARouterWeightThatIsNoNumberIsNamed) {
  EditedCheckpoint edited(Oracle("bf16_q_lora_yarn"));
  auto& router = edited.tensors().at("model.layers.1.mlp.gate.weight");
  const std::size_t cols = router.spec.shape[1];
  const std::uint16_t nan = 0x7fc0;
  std::memcpy(router.bytes.data() + (3 * cols + 5) * 2, &nan, sizeof(nan));
  const testing::ScratchDir dir;
  edited.Write(dir.path());
  const auto weights = Load(dir.path());
  EXPECT_THAT(std::string(weights.status().message()),
              HasSubstr("/model.safetensors: model.layers.1.mlp.gate: the value at row 3, column 5 "
                        "is not a finite"));
}

TEST_F(WeightsTest, AShardCutShortWhileItIsReadIsNamed) {
  const testing::ScratchDir dir;
  EditedCheckpoint(Oracle("bf16_q_lora_yarn")).Write(dir.path());
  const auto checkpoint = Checkpoint::Open(dir.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  fs::resize_file(dir / "model.safetensors", fs::file_size(dir / "model.safetensors") / 2);
  const auto weights = LoadWeights(*checkpoint, context(), {});
  EXPECT_EQ(weights.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(weights.status().message()), HasSubstr("model.safetensors"));
}

TEST_F(WeightsTest, WhatDoesNotFitIsRefusedBeforeAnythingIsLoaded) {
  bool loaded = false;
  const auto weights = Load(Oracle("int4_nested"), {.beside = {.cache = std::size_t{1} << 50},
                                                    .progress = [&](std::size_t, std::size_t) {
                                                      loaded = true;
                                                      return true;
                                                    }});
  EXPECT_EQ(weights.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(weights.status().message()),
              HasSubstr("+ KV cache 1125.9 TB + workspace 0 B are needed"));
  EXPECT_FALSE(loaded);
}

}  // namespace
}  // namespace stoker::model
