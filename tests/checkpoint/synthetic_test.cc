#include "checkpoint/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/synthetic_fill.h"
#include "checkpoint/synthetic_tokenizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sys/file.h"
#include "tensor/float_types.h"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

SyntheticOptions Tiny(QuantMethod format = QuantMethod::kInt4PackQuantized) {
  SyntheticOptions options;
  options.config = *NamedShape("tiny");
  options.format = format;
  options.seed = 7;
  options.threads = 2;
  options.max_shard_bytes = 100'000;
  return options;
}

std::string Contents(const fs::path& file) {
  return *sys::ReadTextFile(file, std::uint64_t{1} << 30);
}

// Every weight that the model needs, of the right shape and format.
void ExpectComplete(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  std::vector<ModelTensor> weights = OuterTensors(config);
  const auto add = [&](const std::vector<ModelTensor>& more) {
    weights.insert(weights.end(), more.begin(), more.end());
  };
  for (std::int32_t layer = 0; layer < static_cast<std::int32_t>(config.layers); ++layer) {
    add(LayerTensors(config, LayerId{layer}));
    if (!config.IsMoe(LayerId{layer})) continue;
    for (std::int32_t expert = 0; expert < static_cast<std::int32_t>(config.router.experts);
         ++expert) {
      add(ExpertTensors(config, {LayerId{layer}, expert}));
    }
  }
  std::size_t tensors = 0;
  for (const ModelTensor& weight : weights) {
    tensors += StoredTensors(config, weight).size();
    if (weight.cols == 0) {
      const bool bias = weight.weight_class == WeightClass::kRouter;
      const auto floats =
          checkpoint.FindFloats(weight.name + (bias ? "" : ".weight"), {weight.rows});
      EXPECT_TRUE(floats.ok()) << floats.status();
      continue;
    }
    const auto linear = checkpoint.FindLinear(weight.name, weight.rows, weight.cols);
    ASSERT_TRUE(linear.ok()) << linear.status();
    EXPECT_EQ(linear->format, weight.format) << weight.name;
  }
  EXPECT_EQ(tensors, checkpoint.TensorNames().size());
}

TEST(Synthetic, EveryFormatOpensWithEveryWeightInPlace) {
  for (const QuantMethod format :
       {QuantMethod::kInt4PackQuantized, QuantMethod::kFp8Block, QuantMethod::kNone}) {
    const stoker::testing::ScratchDir dir;
    SyntheticOptions options = Tiny(format);
    options.config.tensor_prefix = "language_model.";
    options.config.architecture = "KimiK25ForConditionalGeneration";
    options.config.model_type = "kimi_k25";
    ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "out"), absl::OkStatus());
    const auto checkpoint = Checkpoint::Open(dir / "out");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ(checkpoint->config().quant, format);
    EXPECT_EQ(checkpoint->config().end_tokens, std::vector<TokenId>{kByteTokenizerEnd});
    ExpectComplete(*checkpoint);
  }
}

TEST(Synthetic, PlainAttentionAndTiedEmbeddingsAreWrittenToo) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  options.config.q_lora_rank = 0;
  options.config.tied_embeddings = true;
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "out"), absl::OkStatus());
  const auto checkpoint = Checkpoint::Open(dir / "out");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_TRUE(checkpoint->Has("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_FALSE(checkpoint->Has("lm_head.weight"));
  ExpectComplete(*checkpoint);
}

TEST(Synthetic, SeedDecidesTheWeightsAndThreadsAndShardsDoNot) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "a"), absl::OkStatus());
  options.threads = 1;
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "b"), absl::OkStatus());
  options.max_shard_bytes = 60'000;
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "c"), absl::OkStatus());
  options.seed = 8;
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "d"), absl::OkStatus());

  std::size_t shards = 0;
  for (const auto& entry : fs::directory_iterator(dir / "a")) {
    shards += entry.path().extension() == ".safetensors" ? 1 : 0;
    EXPECT_EQ(Contents(entry.path()), Contents(dir / "b" / entry.path().filename()));
  }
  EXPECT_GT(shards, 2U);

  const auto a = Checkpoint::Open(dir / "a");
  const auto c = Checkpoint::Open(dir / "c");
  const auto d = Checkpoint::Open(dir / "d");
  ASSERT_TRUE(a.ok() && c.ok() && d.ok());
  for (const std::string& name : a->TensorNames()) {
    EXPECT_TRUE(std::ranges::equal(a->Find(name)->data, c->Find(name)->data)) << name;
  }
  const std::string expert = "model.layers.1.mlp.experts.3.up_proj.weight_packed";
  EXPECT_FALSE(std::ranges::equal(a->Find(expert)->data, d->Find(expert)->data));
  const std::string other = "model.layers.1.mlp.experts.4.up_proj.weight_packed";
  EXPECT_FALSE(std::ranges::equal(a->Find(expert)->data, a->Find(other)->data));
}

TEST(Synthetic, ProgressReachesTheBytesThatWereAnnounced) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  std::uint64_t last = 0;
  std::uint64_t announced = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    announced = total;
    return true;
  };
  ASSERT_EQ(WriteSyntheticCheckpoint(options, dir / "out"), absl::OkStatus());
  EXPECT_EQ(last, announced);
  EXPECT_EQ(announced, SyntheticCheckpointBytes(options));
  std::uint64_t on_disk = 0;
  for (const auto& entry : fs::directory_iterator(dir / "out")) {
    if (entry.path().extension() == ".safetensors") on_disk += entry.file_size();
  }
  EXPECT_EQ(on_disk, announced);
}

TEST(Synthetic, WhatIsTooLargeIsRefusedBeforeItIsPlanned) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  options.config.layers = 1024;
  options.config.router.experts = 4096;
  EXPECT_THAT(std::string(WriteSyntheticCheckpoint(options, dir / "out").message()),
              ::testing::HasSubstr("at most 1000000 experts"));
  options.config.layers = 200;
  options.config.hidden = 16384;
  options.config.expert_width = 16384;
  EXPECT_EQ(WriteSyntheticCheckpoint(options, dir / "out").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(Synthetic, WhatIsCancelledLeavesNothing) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  options.progress = [](std::uint64_t done, std::uint64_t total) { return done < total / 2; };
  EXPECT_TRUE(absl::IsCancelled(WriteSyntheticCheckpoint(options, dir / "out")));
  EXPECT_FALSE(fs::exists(dir / "out"));
  fs::create_directory(dir / "mine");
  EXPECT_TRUE(absl::IsCancelled(WriteSyntheticCheckpoint(options, dir / "mine")));
  EXPECT_TRUE(fs::is_empty(dir / "mine")) << "a folder of the user's stays, empty";
}

TEST(Synthetic, AFolderWithFilesIsLeftAlone) {
  const stoker::testing::ScratchDir dir;
  std::ofstream(dir / "precious") << "x";
  const absl::Status status = WriteSyntheticCheckpoint(Tiny(), dir.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there are files in this folder"));
  EXPECT_EQ(Contents(dir / "precious"), "x");
  EXPECT_TRUE(absl::IsInvalidArgument(WriteSyntheticCheckpoint(Tiny(), dir / "precious")));
}

TEST(Synthetic, AKilledRunsLeftoverIsNamed) {
  const stoker::testing::ScratchDir dir;
  std::ofstream(dir / "model-00001-of-00001.safetensors.partial") << "half";
  const absl::Status status = WriteSyntheticCheckpoint(Tiny(), dir.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("00001.safetensors.partial"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("was killed"));
}

TEST(Synthetic, TwoRunsIntoOneFolderLeaveEachOthersFilesAlone) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  options.progress = [&](std::uint64_t, std::uint64_t) {
    std::ofstream(dir / "config.json") << "another's";
    return true;
  };
  const absl::Status status = WriteSyntheticCheckpoint(options, dir.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_EQ(Contents(dir / "config.json"), "another's");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
}

TEST(Synthetic, ADiskThatIsTooSmallIsFoundOutFirst) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options;
  options.config = *NamedShape("k2-layer");
  options.config.layers = 61 * 16;  // 9 TB
  options.config.router.experts = 16;
  options.config.dense_layers = options.config.layers;
  options.config.dense_width = 1U << 20;
  const absl::Status status = WriteSyntheticCheckpoint(options, dir / "out");
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the checkpoint takes 44."));
  EXPECT_FALSE(fs::exists(dir / "out"));
}

TEST(Synthetic, ShapesThatCannotBeWrittenAreRefused) {
  const stoker::testing::ScratchDir dir;
  SyntheticOptions options = Tiny();
  options.config.vocab = 511;
  EXPECT_THAT(std::string(WriteSyntheticCheckpoint(options, dir / "out").message()),
              HasSubstr("vocab_size is 511"));
  options = Tiny();
  options.config.expert_width = 40;
  EXPECT_THAT(std::string(WriteSyntheticCheckpoint(options, dir / "out").message()),
              HasSubstr("a multiple of 32"));
  EXPECT_FALSE(fs::exists(dir / "out"));
  EXPECT_THAT(std::string(NamedShape("moonligth").status().message()),
              HasSubstr("did you mean moonlight?"));
  EXPECT_THAT(std::string(ParseSyntheticFormat("int8").status().message()),
              HasSubstr("use int4, fp8 or bf16"));
}

TEST(Synthetic, EveryNamedShapeIsAValidConfiguration) {
  for (const std::string& name : ShapeNames()) {
    const auto shape = NamedShape(name);
    ASSERT_TRUE(shape.ok()) << shape.status();
    const auto parsed = ParseModelConfig(FormatModelConfig(*shape));
    ASSERT_TRUE(parsed.ok()) << name << ": " << parsed.status();
    EXPECT_EQ(*parsed, *shape) << name;
  }
}

template <typename Stored>
std::vector<float> FilledWith(const FillSpec& spec, std::size_t count) {
  std::vector<Stored> stored(count);
  FillBytes(spec, 0, std::as_writable_bytes(std::span(stored)));
  std::vector<float> values;
  for (const Stored value : stored) values.push_back(tensor::ToFloat(value));
  return values;
}

double RootMeanSquare(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(SyntheticFill, WeightsHaveTheDeviationAskedFor) {
  constexpr std::size_t kCount = 100'000;
  FillSpec spec = {Fill::kUniformBf16, FillKey(1, "x"), 0.125};
  EXPECT_NEAR(RootMeanSquare(FilledWith<tensor::Bf16>(spec, kCount)), 0.125, 0.002);

  spec.fill = Fill::kInt4Scale;
  const double scale = RootMeanSquare(FilledWith<tensor::Bf16>(spec, kCount));
  EXPECT_NEAR(scale * std::sqrt(17.5), 0.125, 0.005);

  spec.fill = Fill::kFp8Codes;
  const std::vector<float> codes = FilledWith<tensor::F8E4M3>(spec, kCount);
  EXPECT_TRUE(std::ranges::all_of(codes, [](float code) { return std::isfinite(code); }));
  spec.fill = Fill::kFp8Scale;
  float fp8_scale = 0;
  FillBytes(spec, 0, std::as_writable_bytes(std::span(&fp8_scale, 1)));
  EXPECT_NEAR(RootMeanSquare(codes) * fp8_scale, 0.125, 0.125 * 0.3);
}

TEST(SyntheticFill, Int4WeightsHaveMeanZero) {
  std::vector<std::uint8_t> bytes(65536);
  FillBytes({Fill::kInt4Codes, FillKey(1, "x")}, 0, std::as_writable_bytes(std::span(bytes)));
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t byte : bytes) {
    for (const int value : {(byte & 15) - 8, (byte >> 4) - 8}) {
      sum += value;
      squares += value * value;
    }
  }
  const auto count = static_cast<double>(2 * bytes.size());
  EXPECT_NEAR(sum / count, 0.0, 0.05);
  EXPECT_NEAR(squares / count, 17.5, 0.3);
}

TEST(SyntheticFill, EveryFp8CodeButNanOccurs) {
  std::vector<std::uint8_t> codes(65536);
  FillBytes({Fill::kFp8Codes, FillKey(1, "x")}, 0, std::as_writable_bytes(std::span(codes)));
  std::vector<bool> seen(256);
  for (const std::uint8_t code : codes) seen[code] = true;
  for (std::size_t code = 0; code < 256; ++code) {
    EXPECT_EQ(seen[code], (code & 0x7f) != 0x7f) << code;
  }
}

TEST(SyntheticFill, PiecesJoinSeamlessly) {
  for (const Fill fill : {Fill::kUniformBf16, Fill::kUniformF32, Fill::kInt4Codes, Fill::kInt4Scale,
                          Fill::kFp8Codes, Fill::kFp8Scale}) {
    const FillSpec spec = {fill, FillKey(3, "y"), 0.5};
    std::vector<std::byte> whole(1003);
    FillBytes(spec, 0, whole);
    for (const std::size_t cut : {std::size_t{8}, std::size_t{504}, std::size_t{1000}}) {
      std::vector<std::byte> pieces(whole.size());
      FillBytes(spec, 0, std::span(pieces).first(cut));
      FillBytes(spec, cut, std::span(pieces).subspan(cut));
      EXPECT_EQ(pieces, whole) << "cut at " << cut;
    }
  }
}

TEST(SyntheticTokenizer, NamesKimisTokensAfter256Bytes) {
  const std::string ranks = ByteTokenizerRanks();
  EXPECT_EQ(std::count(ranks.begin(), ranks.end(), '\n'), 256);
  EXPECT_TRUE(ranks.starts_with("AA== 0\nAQ== 1\n"));
  EXPECT_THAT(ranks, HasSubstr("QQ== 65\n"));  // 'A'
  const std::string config = ByteTokenizerConfig();
  EXPECT_THAT(config, HasSubstr("\"258\": {\n      \"content\": \"<|im_end|>\""));
  EXPECT_THAT(config, HasSubstr("\"511\": {\n      \"content\": \"[PAD]\""));
}

}  // namespace
}  // namespace stoker::checkpoint
