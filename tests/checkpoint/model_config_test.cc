#include "checkpoint/model_config.h"

#include <fstream>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/paths.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Yarn() {
  return {{"type", "yarn"},       {"factor", 64.0},   {"original_max_position_embeddings", 4096},
          {"beta_fast", 32.0},    {"beta_slow", 1.0}, {"mscale", 1.0},
          {"mscale_all_dim", 1.0}};
}

json Int4() {
  json weights = {{"num_bits", 4},       {"type", "int"},
                  {"symmetric", true},   {"group_size", 32},
                  {"actorder", nullptr}, {"strategy", "group"},
                  {"dynamic", false},    {"observer_kwargs", json::object()}};
  json group = {{"targets", json::array({"Linear"})},
                {"weights", weights},
                {"input_activations", nullptr},
                {"output_activations", nullptr}};
  return {{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"},
          {"quantization_status", "compressed"},  {"ignore", json::array({"lm_head"})},
          {"kv_cache_scheme", nullptr},           {"config_groups", {{"group_0", group}}}};
}

json Fp8() {
  return {{"quant_method", "fp8"},
          {"fmt", "e4m3"},
          {"activation_scheme", "dynamic"},
          {"weight_block_size", {128, 128}}};
}

json Flat() {
  return {{"architectures", json::array({"DeepseekV3ForCausalLM"})},
          {"model_type", "kimi_k2"},
          {"hidden_size", 64},
          {"num_hidden_layers", 3},
          {"vocab_size", 512},
          {"max_position_embeddings", 4096},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 4},
          {"q_lora_rank", nullptr},
          {"kv_lora_rank", 32},
          {"qk_nope_head_dim", 16},
          {"qk_rope_head_dim", 8},
          {"v_head_dim", 16},
          {"first_k_dense_replace", 1},
          {"intermediate_size", 128},
          {"moe_intermediate_size", 32},
          {"n_shared_experts", 1},
          {"n_routed_experts", 8},
          {"num_experts_per_tok", 2},
          {"n_group", 2},
          {"topk_group", 1},
          {"routed_scaling_factor", 2.5},
          {"scoring_func", "sigmoid"},
          {"topk_method", "noaux_tc"},
          {"eos_token_id", 5}};
}

absl::StatusOr<ModelConfig> Parse(const json& document) {
  return ParseModelConfig(document.dump());
}

void ExpectError(const json& document, absl::StatusCode code, const std::string& part) {
  const auto config = Parse(document);
  ASSERT_FALSE(config.ok()) << "expected an error about " << part;
  EXPECT_EQ(config.status().code(), code) << config.status();
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

void ExpectInvalid(const std::string& key, const json& value, const std::string& part) {
  json document = Flat();
  document[key] = value;
  ExpectError(document, absl::StatusCode::kInvalidArgument, part);
}

void ExpectUnsupported(const std::string& key, const json& value, const std::string& part) {
  json document = Flat();
  document[key] = value;
  ExpectError(document, absl::StatusCode::kUnimplemented, part);
}

TEST(ModelConfig, FlatFileIsRead) {
  const auto config = Parse(Flat());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "DeepseekV3ForCausalLM");
  EXPECT_EQ(config->model_type, "kimi_k2");
  EXPECT_EQ(config->tensor_prefix, "");
  EXPECT_EQ(config->hidden, 64U);
  EXPECT_EQ(config->q_lora_rank, 0U);
  EXPECT_EQ(config->router.groups, 2U);
  EXPECT_EQ(config->router.weight_scale, 2.5);
  EXPECT_EQ(config->quant, QuantMethod::kNone);
  EXPECT_FALSE(config->yarn.has_value());
  EXPECT_EQ(config->end_tokens, std::vector<TokenId>{TokenId{5}});
  EXPECT_FALSE(config->begin_token.has_value());
  EXPECT_TRUE(config->IsMoe(LayerId{1}));
  EXPECT_FALSE(config->IsMoe(LayerId{0}));
}

TEST(ModelConfig, NestedFileReadsTextConfigAndFallsBackToTheOuterTokens) {
  json text = Flat();
  text.erase("eos_token_id");
  text["rope_scaling"] = Yarn();
  text["quantization_config"] = Int4();
  const json document = {{"architectures", json::array({"KimiK25ForConditionalGeneration"})},
                         {"model_type", "kimi_k25"},
                         {"eos_token_id", {7, 9}},
                         {"bos_token_id", 3},
                         {"tie_word_embeddings", true},
                         {"text_config", text}};
  const auto config = Parse(document);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "KimiK25ForConditionalGeneration");
  EXPECT_EQ(config->tensor_prefix, "language_model.");
  EXPECT_EQ(config->quant, QuantMethod::kInt4PackQuantized);
  EXPECT_EQ(config->end_tokens, (std::vector<TokenId>{TokenId{7}, TokenId{9}}));
  EXPECT_EQ(config->begin_token, TokenId{3});
  EXPECT_TRUE(config->tied_embeddings);
  ASSERT_TRUE(config->yarn.has_value());
  EXPECT_EQ(config->yarn->factor, 64.0);
}

TEST(ModelConfig, ModelTypeDecidesWhereArchitecturesIsMissing) {
  json document = Flat();
  document.erase("architectures");
  document["model_type"] = "deepseek_v3";
  auto config = Parse(document);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "DeepseekV3ForCausalLM");
  config = Parse({{"model_type", "kimi_vl"}, {"text_config", Flat()}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "KimiVLForConditionalGeneration");
  EXPECT_EQ(config->tensor_prefix, "language_model.");
}

TEST(ModelConfig, RealK26FileIsRead) {
  const auto path = stoker::testing::SharedPath("data/kimi-k2.6/config.json");
  if (path.empty()) GTEST_SKIP() << "no ../shared/data/kimi-k2.6 here";
  const auto config = LoadModelConfig(path);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->layers, 61U);
  EXPECT_EQ(config->hidden, 7168U);
  EXPECT_EQ(config->q_lora_rank, 1536U);
  EXPECT_EQ(config->router.experts, 384U);
  EXPECT_EQ(config->router.weight_scale, 2.827);
  EXPECT_EQ(config->rms_norm_eps, 1e-5);
  EXPECT_EQ(config->yarn->beta_fast, 32.0);
  EXPECT_EQ(config->quant, QuantMethod::kInt4PackQuantized);
  EXPECT_EQ(config->end_tokens, std::vector<TokenId>{TokenId{163586}});
}

TEST(ModelConfig, RopeParametersOfNewerFilesCarryThetaAndType) {
  json document = Flat();
  json rope = Yarn();
  rope.erase("type");
  rope["rope_type"] = "yarn";
  rope["rope_theta"] = 50000.0;
  document["rope_parameters"] = rope;
  auto config = Parse(document);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rope_theta, 50000.0);
  ASSERT_TRUE(config->yarn.has_value());

  document["rope_scaling"] = rope;
  EXPECT_TRUE(Parse(document).ok());
  document["rope_scaling"] = {{"type", "default"}};
  ExpectError(document, absl::StatusCode::kInvalidArgument, "the same as rope_parameters");
  document.erase("rope_scaling");

  document["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 20000.0}};
  config = Parse(document);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->rope_theta, 20000.0);
  EXPECT_FALSE(config->yarn.has_value());
}

TEST(ModelConfig, AbsurdNumbersAreRefusedWithKeyAndRange) {
  const std::string range = "it must be a whole number from";
  ExpectInvalid("hidden_size", -3, "\"hidden_size\" is -3; " + range);
  ExpectInvalid("hidden_size", 0, "\"hidden_size\" is 0; " + range);
  ExpectInvalid("hidden_size", 64.5, "\"hidden_size\" is 64.5; " + range);
  ExpectInvalid("hidden_size", "64", "\"hidden_size\" is \"64\"; " + range);
  ExpectInvalid("hidden_size", true, "\"hidden_size\" is true; " + range);
  ExpectInvalid("hidden_size", 1ULL << 63, "\"hidden_size\" is 9223372036854775808");
  ExpectInvalid("hidden_size", json::object(), "\"hidden_size\" is an object");
  ExpectInvalid("hidden_size", 63, "\"hidden_size\" is 63; it must be even");
  ExpectInvalid("hidden_size", nullptr, "\"hidden_size\" is missing");
  ExpectInvalid("kv_lora_rank", 33, "\"kv_lora_rank\" is 33; it must be even");
  ExpectInvalid("num_hidden_layers", 1000000, "from 1 to 1024");
  ExpectInvalid("vocab_size", 1e30, "\"vocab_size\" is 1e+30");
  ExpectInvalid("rms_norm_eps", 0, "a number above 0 and at most 1");
  ExpectInvalid("rope_theta", -1, "\"rope_theta\" is -1");
  ExpectInvalid("routed_scaling_factor", 0, "\"routed_scaling_factor\"");
  ExpectInvalid("eos_token_id", 512, "from 0 to 511");
  ExpectInvalid("eos_token_id", json({1, -1}), "\"eos_token_id\"");
  ExpectInvalid("eos_token_id", json(std::vector<int>(65, 1)), "a list of up to 64");
  ExpectInvalid("bos_token_id", "x", "\"bos_token_id\"");
  ExpectInvalid("tie_word_embeddings", 1, "true or false");
  ExpectInvalid("architectures", "x", "a list of one name");
}

TEST(ModelConfig, SizesMustAgreeWithOneAnother) {
  ExpectInvalid("num_experts_per_tok", 9, "from 1 to 8");
  ExpectInvalid("n_group", 3, "a divisor of n_routed_experts (8)");
  ExpectInvalid("n_group", 8, "groups of two experts");
  ExpectInvalid("topk_group", 3, "from 1 to 2");
  ExpectInvalid("num_experts_per_tok", 5, "hold num_experts_per_tok (5) experts");
  ExpectInvalid("first_k_dense_replace", 4, "from 0 to 3");
  ExpectInvalid("num_key_value_heads", 2, "num_attention_heads (4)");
  json document = Flat();
  document["quantization_config"] = Int4();
  document["moe_intermediate_size"] = 48;
  ExpectError(document, absl::StatusCode::kInvalidArgument, "a multiple of 32");
}

TEST(ModelConfig, WhatStokerDoesNotRunIsNamed) {
  ExpectUnsupported("attention_bias", true, "\"attention_bias\" is true");
  ExpectUnsupported("scoring_func", "softmax", "\"scoring_func\" is \"softmax\"");
  ExpectUnsupported("topk_method", "greedy", "\"topk_method\" is \"greedy\"");
  ExpectUnsupported("moe_layer_freq", 2, "\"moe_layer_freq\" is 2");
  ExpectUnsupported("hidden_act", "gelu", "\"hidden_act\" is \"gelu\"");
  ExpectUnsupported("rope_interleave", false, "\"rope_interleave\"");
  ExpectUnsupported("dtype", "float64", "\"dtype\" is \"float64\"");
  ExpectUnsupported("architectures", json::array({"LlamaForCausalLM"}), "\"LlamaForCausalLM\"");
  ExpectUnsupported("architectures", json::array({"DeepseekV2ForCausalLM"}),
                    "DeepSeek-V2 (softmax routing)");
  ExpectUnsupported("rope_scaling", {{"type", "llama3"}}, "\"rope_scaling.type\" is \"llama3\"");
  ExpectUnsupported("rope_scaling", {{"type", "yarn"}, {"factor", 2}, {"attention_factor", 1.5}},
                    "attention_factor");
}

TEST(ModelConfig, YarnFieldsAreChecked) {
  const auto with = [](const std::string& key, const json& value) {
    json yarn = Yarn();
    yarn[key] = value;
    return yarn;
  };
  ExpectInvalid("rope_scaling", with("factor", 0.5), "\"rope_scaling.factor\"");
  // What would be plain rope in spite of a factor.
  ExpectInvalid("rope_scaling", {{"tpye", "yarn"}, {"factor", 4}}, "\"rope_scaling.factor\" is 4");
  ExpectInvalid("rope_scaling", {{"rope_type", "default"}, {"type", "yarn"}},
                "the same as rope_type (\"default\")");
  ExpectInvalid("rope_scaling", with("factor", nullptr), "\"rope_scaling.factor\" is missing");
  ExpectInvalid("rope_scaling", with("mscale", -1), "\"rope_scaling.mscale\"");
  ExpectInvalid("rope_scaling", with("beta_fast", 0.5), "at least beta_slow (1)");
  ExpectInvalid("rope_scaling", with("original_max_position_embeddings", -4),
                "\"rope_scaling.original_max_position_embeddings\"");
  ExpectInvalid("rope_scaling", "yarn", "\"rope_scaling\" is \"yarn\"; it must be an object");
}

TEST(ModelConfig, EveryFieldOfPackQuantizedIsChecked) {
  const auto group = [](const std::string& key, const json& value) {
    json quant = Int4();
    quant["config_groups"]["group_0"][key] = value;
    return quant;
  };
  const auto weights = [](const std::string& key, const json& value) {
    json quant = Int4();
    quant["config_groups"]["group_0"]["weights"][key] = value;
    return quant;
  };
  const std::string path = "quantization_config.config_groups.group_0.";
  const std::string key = "quantization_config";
  ExpectUnsupported(key, weights("num_bits", 8), path + "weights.num_bits\" is 8");
  ExpectUnsupported(key, weights("type", "float"), path + "weights.type");
  ExpectUnsupported(key, weights("symmetric", false), path + "weights.symmetric");
  ExpectUnsupported(key, weights("group_size", 128), path + "weights.group_size\" is 128");
  ExpectUnsupported(key, weights("actorder", "group"), path + "weights.actorder");
  ExpectUnsupported(key, weights("strategy", "channel"), path + "weights.strategy");
  ExpectUnsupported(key, weights("dynamic", true), path + "weights.dynamic");
  ExpectUnsupported(key, group("input_activations", {{"num_bits", 8}}), "input_activations");
  ExpectUnsupported(key, group("output_activations", {{"num_bits", 8}}), "output_activations");
  ExpectUnsupported(key, group("targets", json::array({"Conv"})), path + "targets");
  ExpectInvalid(key, group("weights", nullptr), path + "weights\" is missing");
  json quant = Int4();
  quant["format"] = "int-quantized";
  ExpectUnsupported(key, quant, "quantization_config.format");
  quant = Int4();
  quant["kv_cache_scheme"] = {{"num_bits", 8}};
  ExpectUnsupported(key, quant, "quantization_config.kv_cache_scheme");
  quant = Int4();
  quant["config_groups"] = json::object();
  ExpectInvalid(key, quant, "at least one group");
  quant = Int4();
  quant["ignore"] = {1, 2};
  ExpectInvalid(key, quant, "a list of names");
  ExpectUnsupported(key, {{"quant_method", "gptq"}}, "\"gptq\"");
  ExpectUnsupported(key, json::object(), "quantization_config.quant_method\" is missing");
}

TEST(ModelConfig, Fp8FieldsAreChecked) {
  json document = Flat();
  document["quantization_config"] = Fp8();
  const auto config = Parse(document);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->quant, QuantMethod::kFp8Block);
  json quant = Fp8();
  quant["weight_block_size"] = {64, 128};
  ExpectUnsupported("quantization_config", quant, "weight_block_size");
  quant = Fp8();
  quant["fmt"] = "e5m2";
  ExpectUnsupported("quantization_config", quant, "quantization_config.fmt");
  quant = Fp8();
  quant["activation_scheme"] = "static";
  ExpectUnsupported("quantization_config", quant, "activation_scheme");
}

TEST(ModelConfig, TextThatIsNoConfigIsRefused) {
  EXPECT_FALSE(ParseModelConfig("").ok());
  EXPECT_FALSE(ParseModelConfig("[]").ok());
  EXPECT_FALSE(ParseModelConfig("{\"a\": ").ok());
  ExpectError(json::object(), absl::StatusCode::kUnimplemented, "\"model_type\" is missing");
  ExpectError({{"architectures", json::array({"KimiK25ForConditionalGeneration"})}},
              absl::StatusCode::kInvalidArgument, "\"text_config\" is missing");
}

TEST(ModelConfig, ErrorsOfAFileNameTheFile) {
  const stoker::testing::ScratchDir dir;
  EXPECT_TRUE(absl::IsNotFound(LoadModelConfig(dir.path()).status()));
  json document = Flat();
  document["hidden_size"] = 0;
  std::ofstream(dir / "config.json") << document.dump();
  const auto config = LoadModelConfig(dir.path());
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(std::string(config.status().message()),
              HasSubstr((dir / "config.json").string() + ": \"hidden_size\""));
}

TEST(ModelConfig, AFormattedConfigReadsBackTheSame) {
  const std::vector<std::function<void(json&)>> variants = {
      [](json&) {},
      [](json& j) { j["quantization_config"] = Int4(); },
      [](json& j) { j["quantization_config"] = Fp8(); },
      [](json& j) { j["rope_scaling"] = Yarn(); },
      [](json& j) { j["q_lora_rank"] = 24; },
      [](json& j) {
        j["eos_token_id"] = {1, 2};
      },
      [](json& j) { j["bos_token_id"] = 2; },
      [](json& j) { j["dtype"] = "float32"; },
      [](json& j) { j["num_nextn_predict_layers"] = 1; },
      [](json& j) {
        j = {{"architectures", json::array({"KimiK25ForConditionalGeneration"})},
             {"text_config", j}};
      },
  };
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    json document = Flat();
    variants[variant](document);
    const auto config = Parse(document);
    ASSERT_TRUE(config.ok()) << config.status();
    const auto again = ParseModelConfig(FormatModelConfig(*config));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *config) << "variant " << variant;
  }
}

}  // namespace
}  // namespace stoker::checkpoint
