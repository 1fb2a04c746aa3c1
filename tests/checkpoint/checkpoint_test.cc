#include "checkpoint/checkpoint.h"

#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/float_types.h"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;
using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder with a checkpoint that a test puts together piece by piece.
class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    WriteConfig([](ModelConfig&) {});
  }

  template <typename Change>
  void WriteConfig(const Change& change) {
    ModelConfig config;
    config.architecture = "DeepseekV3ForCausalLM";
    config.model_type = "kimi_k2";
    config.layers = 2;
    config.hidden = 64;
    config.vocab = 16;
    config.max_positions = 128;
    config.heads = 2;
    config.kv_lora_rank = 32;
    config.qk_nope_dim = 16;
    config.qk_rope_dim = 8;
    config.v_head_dim = 16;
    config.dense_width = 64;
    config.expert_width = 32;
    config.router.experts = 4;
    config.router.top_k = 2;
    change(config);
    std::ofstream(dir_ / "config.json") << FormatModelConfig(config);
  }

  void WriteShard(const std::string& file, const std::vector<TensorSpec>& specs) {
    std::ofstream out(dir_ / file, std::ios::binary);
    out << FormatSafetensorsHeader(specs);
    unsigned char next = 0;
    for (const TensorSpec& spec : specs) {
      for (std::uint64_t i = 0; i < spec.bytes(); ++i) out.put(static_cast<char>(next++ & 0x3f));
    }
  }

  void WriteIndex(const std::map<std::string, std::string>& map) {
    std::ofstream(dir_ / "model.safetensors.index.json") << json{{"weight_map", map}};
  }

  [[nodiscard]] absl::StatusOr<Checkpoint> Open() const { return Checkpoint::Open(dir_.path()); }

  void ExpectOpenFails(const std::string& part) const {
    const auto checkpoint = Open();
    ASSERT_FALSE(checkpoint.ok()) << "expected: " << part;
    EXPECT_THAT(std::string(checkpoint.status().message()), HasSubstr(part));
  }

  // The error of FindLinear("layer", 64, 64) over a shard of these tensors.
  [[nodiscard]] std::string LinearError(const std::vector<TensorSpec>& specs) {
    WriteShard("model.safetensors", specs);
    const auto checkpoint = Open();
    if (!checkpoint.ok()) return std::string(checkpoint.status().message());
    const auto weight = checkpoint->FindLinear("layer", 64, 64);
    return weight.ok() ? "no error" : std::string(weight.status().message());
  }

  static std::vector<TensorSpec> Int4Layer() {
    return {{"layer.weight_packed", DType::kI32, {64, 8}},
            {"layer.weight_scale", DType::kBf16, {64, 2}}};
  }

  stoker::testing::ScratchDir dir_;
};

TEST_F(CheckpointTest, TensorsOfAllShardsAreFound) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {2, 3}}, {"w", DType::kU8, {3}}});
  WriteShard("b.safetensors", {{"y", DType::kI64, {1}}});
  WriteIndex({{"x", "a.safetensors"}, {"y", "b.safetensors"}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->config().hidden, 64U);
  EXPECT_THAT(checkpoint->TensorNames(), ElementsAre("w", "x", "y"));
  EXPECT_TRUE(checkpoint->Has("x"));
  EXPECT_FALSE(checkpoint->Has("z"));
  EXPECT_EQ(checkpoint->tensor_bytes(), 24U + 3 + 8);
  const auto w = checkpoint->Find("w");
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_EQ(w->dtype, DType::kU8);
  EXPECT_THAT(w->shape, ElementsAre(3U));
  EXPECT_THAT(w->data, ElementsAre(std::byte{24}, std::byte{25}, std::byte{26}));
  EXPECT_TRUE(absl::IsNotFound(checkpoint->Find("z").status()));
}

TEST_F(CheckpointTest, AMissingShardIsNamed) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {1}}});
  WriteIndex({{"x", "a.safetensors"}, {"y", "b.safetensors"}});
  ExpectOpenFails((dir_ / "b.safetensors").string() + ": this shard is missing");
}

TEST_F(CheckpointTest, ATruncatedShardIsNamed) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {8}}});
  const auto bytes = std::filesystem::file_size(dir_ / "a.safetensors");
  std::filesystem::resize_file(dir_ / "a.safetensors", bytes - 1);
  ExpectOpenFails((dir_ / "a.safetensors").string() + ": the file is truncated: tensor \"x\"");
  std::filesystem::resize_file(dir_ / "a.safetensors", 0);
  ExpectOpenFails((dir_ / "a.safetensors").string() + ": the file is truncated");
}

TEST_F(CheckpointTest, AnIndexThatNamesATensorItsShardLacksIsRefused) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {1}}});
  WriteShard("b.safetensors", {{"y", DType::kF32, {1}}});
  WriteIndex({{"x", "a.safetensors"}, {"y", "b.safetensors"}, {"z", "b.safetensors"}});
  ExpectOpenFails("b.safetensors: tensor \"z\" is not there, although the index says so");
  WriteIndex({{"x", "b.safetensors"}, {"y", "a.safetensors"}});
  ExpectOpenFails("although the index says so");
}

TEST_F(CheckpointTest, AnIndexLinkThatLeadsNowhereIsAnError) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {1}}});
  std::filesystem::create_symlink("nowhere", dir_ / "model.safetensors.index.json");
  ExpectOpenFails("model.safetensors.index.json");
}

TEST_F(CheckpointTest, WithoutAnIndexTheFileOfTheUsualNameIsTheWholeModel) {
  WriteShard("model.safetensors", {{"x", DType::kF32, {1}}});
  WriteShard("other.safetensors", {{"y", DType::kF32, {1}}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->TensorNames(), ElementsAre("x"));
}

TEST_F(CheckpointTest, ATensorInTwoShardsIsRefused) {
  WriteShard("a.safetensors", {{"x", DType::kF32, {1}}});
  WriteShard("b.safetensors", {{"x", DType::kF32, {1}}});
  ExpectOpenFails("tensor \"x\" is also in");
}

TEST_F(CheckpointTest, AFolderWithoutConfigOrShardsIsRefused) {
  ExpectOpenFails("no model.safetensors.index.json and no *.safetensors");
  std::filesystem::remove(dir_ / "config.json");
  ExpectOpenFails("config.json");
}

TEST_F(CheckpointTest, TheConfigsPrefixIsLeftOutOfNames) {
  WriteConfig([](ModelConfig& config) {
    config.architecture = "KimiK25ForConditionalGeneration";
    config.model_type = "kimi_k25";
    config.tensor_prefix = "language_model.";
  });
  WriteShard("a.safetensors", {{"language_model.model.norm.weight", DType::kF32, {2}},
                               {"vision_tower.patch.weight", DType::kF32, {2}},
                               {"mm_projector.proj.0.bias", DType::kF32, {2}}});
  WriteIndex({{"language_model.model.norm.weight", "a.safetensors"},
              {"vision_tower.patch.weight", "a.safetensors"}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_TRUE(checkpoint->Has("model.norm.weight"));
  EXPECT_EQ(checkpoint->tensor_bytes(), 8U);
  EXPECT_THAT(checkpoint->TensorNames(), ElementsAre("language_model.model.norm.weight"));
}

TEST_F(CheckpointTest, MultiTokenPredictionLayersAreLeftOut) {
  WriteConfig([](ModelConfig& config) { config.mtp_layers = 1; });
  WriteShard("a.safetensors", {{"model.layers.1.x", DType::kF32, {1}},
                               {"model.layers.2.x", DType::kF32, {1}},
                               {"model.layers.2.y", DType::kF32, {1}}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->TensorNames(), ElementsAre("model.layers.1.x"));
}

TEST_F(CheckpointTest, FloatsOfEveryTypeAreConverted) {
  const std::vector<TensorSpec> specs = {{"f32", DType::kF32, {2}},
                                         {"bf16", DType::kBf16, {2}},
                                         {"f16", DType::kF16, {1, 2}},
                                         {"i32", DType::kI32, {2}}};
  std::string file = FormatSafetensorsHeader(specs);
  const float f32[2] = {1.5F, -2.0F};
  const tensor::Bf16 bf16[2] = {tensor::ToBf16(0.5F), tensor::ToBf16(-3.0F)};
  const std::uint16_t f16[2] = {0x3c00, 0xc000};  // 1, -2
  const auto append = [&](const void* data, std::size_t bytes) {
    file.append(static_cast<const char*>(data), bytes);
  };
  append(f32, sizeof f32);
  append(bf16, sizeof bf16);
  append(f16, sizeof f16);
  file.append(8, '\0');
  std::ofstream(dir_ / "a.safetensors", std::ios::binary) << file;
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(*checkpoint->FindFloats("f32", {2}), ElementsAre(1.5F, -2.0F));
  EXPECT_THAT(*checkpoint->FindFloats("bf16", {2}), ElementsAre(0.5F, -3.0F));
  EXPECT_THAT(*checkpoint->FindFloats("f16", {1, 2}), ElementsAre(1.0F, -2.0F));
  EXPECT_TRUE(absl::IsNotFound(checkpoint->FindFloats("none", {2}).status()));
  EXPECT_THAT(std::string(checkpoint->FindFloats("i32", {2}).status().message()),
              HasSubstr("tensor \"i32\" has dtype I32; it must be F32, F16 or BF16"));
  EXPECT_THAT(std::string(checkpoint->FindFloats("f32", {1, 2}).status().message()),
              HasSubstr("tensor \"f32\" has shape [2]; the model has [1, 2]"));
}

TEST_F(CheckpointTest, PlainWeightsAreFoundInTheirOwnType) {
  WriteShard("a.safetensors", {{"a.weight", DType::kF32, {4, 6}},
                               {"b.weight", DType::kF16, {4, 6}},
                               {"c.weight", DType::kBf16, {4, 6}}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto c = checkpoint->FindLinear("c", 4, 6);
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->format, tensor::WeightFormat::kBf16);
  EXPECT_EQ(c->rows, 4U);
  EXPECT_EQ(c->cols, 6U);
  EXPECT_EQ(c->weight.size(), 48U);
  EXPECT_TRUE(c->scale.empty());
  EXPECT_EQ(checkpoint->FindLinear("a", 4, 6)->format, tensor::WeightFormat::kF32);
  EXPECT_EQ(checkpoint->FindLinear("b", 4, 6)->format, tensor::WeightFormat::kF16);
  EXPECT_THAT(std::string(checkpoint->FindLinear("a", 6, 4).status().message()),
              HasSubstr("tensor \"a.weight\" has shape [4, 6]; the model has [6, 4]"));
  EXPECT_TRUE(absl::IsNotFound(checkpoint->FindLinear("d", 4, 6).status()));
}

TEST_F(CheckpointTest, Int4WeightsComeWithTheirScales) {
  WriteConfig([](ModelConfig& config) { config.quant = QuantMethod::kInt4PackQuantized; });
  WriteShard("a.safetensors", Int4Layer());
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto weight = checkpoint->FindLinear("layer", 64, 64);
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_EQ(weight->format, tensor::WeightFormat::kInt4Group32);
  EXPECT_EQ(weight->weight.size(), 64U * 32);
  EXPECT_EQ(weight->scale.size(), 64U * 2 * 2);
}

TEST_F(CheckpointTest, Int4WeightsThatDoNotFitTogetherAreRefused) {
  EXPECT_THAT(LinearError(Int4Layer()), HasSubstr("config.json does not say pack-quantized"));
  WriteConfig([](ModelConfig& config) { config.quant = QuantMethod::kInt4PackQuantized; });
  auto layer = Int4Layer();
  layer[0].shape = {64, 7};
  EXPECT_THAT(LinearError(layer), HasSubstr("\"layer.weight_packed\" has shape [64, 7]"));
  layer = Int4Layer();
  layer[1].shape = {64, 4};
  EXPECT_THAT(LinearError(layer), HasSubstr("\"layer.weight_scale\" has shape [64, 4]"));
  layer = Int4Layer();
  layer[1].dtype = DType::kF16;
  EXPECT_THAT(LinearError(layer),
              HasSubstr("\"layer.weight_scale\" has dtype F16; Stoker supports BF16 here"));
  layer = Int4Layer();
  layer[0].dtype = DType::kI64;
  EXPECT_THAT(LinearError(layer), HasSubstr("\"layer.weight_packed\" has dtype I64"));
  layer = Int4Layer();
  layer.pop_back();
  EXPECT_THAT(LinearError(layer), HasSubstr("no tensor \"layer.weight_scale\""));
  layer = Int4Layer();
  layer.push_back({"layer.weight_shape", DType::kI32, {2}});
  EXPECT_THAT(LinearError(layer), HasSubstr("\"layer.weight_shape\" says ["));
  layer = Int4Layer();
  layer.push_back({"layer.weight_zero_point", DType::kI32, {2}});
  EXPECT_THAT(LinearError(layer), HasSubstr("symmetric INT4"));
}

TEST_F(CheckpointTest, Fp8WeightsComeWithTheirBlockScales) {
  WriteConfig([](ModelConfig& config) { config.quant = QuantMethod::kFp8Block; });
  WriteShard("a.safetensors", {{"layer.weight", DType::kF8E4M3, {130, 64}},
                               {"layer.weight_scale_inv", DType::kF32, {2, 1}}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto weight = checkpoint->FindLinear("layer", 130, 64);
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_EQ(weight->format, tensor::WeightFormat::kFp8Block128);
  EXPECT_EQ(weight->weight.size(), 130U * 64);
  EXPECT_EQ(weight->scale.size(), 8U);
}

TEST_F(CheckpointTest, Fp8WeightsThatDoNotFitTogetherAreRefused) {
  const TensorSpec weight = {"layer.weight", DType::kF8E4M3, {64, 64}};
  EXPECT_THAT(LinearError({weight}), HasSubstr("config.json does not say fp8"));
  WriteConfig([](ModelConfig& config) { config.quant = QuantMethod::kFp8Block; });
  EXPECT_THAT(LinearError({weight}), HasSubstr("no tensor \"layer.weight_scale_inv\""));
  EXPECT_THAT(LinearError({weight, {"layer.weight_scale_inv", DType::kBf16, {1, 1}}}),
              HasSubstr("has dtype BF16; Stoker supports F32 here"));
  EXPECT_THAT(LinearError({weight, {"layer.weight_scale_inv", DType::kF32, {1, 2}}}),
              HasSubstr("has shape [1, 2]; the model has [1, 1]"));
}

TEST_F(CheckpointTest, OtherSpellingsAreNamed) {
  EXPECT_THAT(LinearError({{"layer.qweight", DType::kI32, {8, 64}}}),
              HasSubstr("tensor \"layer.qweight\" is of a quantisation"));
  EXPECT_THAT(LinearError({{"layer.weight", DType::kI8, {64, 64}}}),
              HasSubstr("tensor \"layer.weight\" has dtype I8"));
  WriteShard("model.safetensors",
             {{"model.layers.1.mlp.experts.gate_up_proj", DType::kBf16, {2, 2, 2}}});
  const auto checkpoint = Open();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const auto expert = checkpoint->FindLinear("model.layers.1.mlp.experts.0.gate_proj", 32, 64);
  EXPECT_TRUE(absl::IsUnimplemented(expert.status()));
  EXPECT_THAT(std::string(expert.status().message()), HasSubstr("fuses all experts"));
}

}  // namespace
}  // namespace stoker::checkpoint
