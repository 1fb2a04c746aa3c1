#include "checkpoint/quant_config.h"

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tensor/linear_weight.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;

// Fails unless `key` is absent or, spelt out, one of null, false and an empty container.
void RequireUnset(ConfigFields& fields, std::string_view key, std::string_view accepted) {
  const json* value = fields.Value(key);
  if (value == nullptr || (value->is_structured() && value->empty())) return;
  if (value->is_boolean() && !value->get<bool>()) return;
  fields.Unsupported(key, accepted);
}

void RequireText(ConfigFields& fields, std::string_view key, std::string_view accepted) {
  if (fields.Text(key, accepted) != accepted) fields.Unsupported(key, accepted);
}

void RequireSize(ConfigFields& fields, std::string_view key, std::size_t accepted) {
  const json* value = fields.Value(key);
  if (value == nullptr || !value->is_number_integer() || *value != json(accepted)) {
    fields.Unsupported(key, fmt::format("{}", accepted));
  }
}

void CheckInt4Weights(ConfigFields& weights) {
  RequireSize(weights, "num_bits", 4);
  RequireSize(weights, "group_size", tensor::kInt4Group);
  RequireText(weights, "type", "int");
  RequireText(weights, "strategy", "group");
  if (!weights.Bool("symmetric", true)) weights.Unsupported("symmetric", "symmetric INT4 (true)");
  RequireUnset(weights, "actorder", "weights in their natural order (null)");
  RequireUnset(weights, "dynamic", "static weights (false)");
  RequireUnset(weights, "block_structure", "null");
}

void CheckGroup(ConfigFields& group) {
  RequireUnset(group, "input_activations", "unquantised activations (null)");
  RequireUnset(group, "output_activations", "unquantised activations (null)");
  RequireText(group, "format", "pack-quantized");
  const json* targets = group.Value("targets");
  if (targets == nullptr || *targets != json::array({"Linear"})) {
    group.Unsupported("targets", "[\"Linear\"]");
  }
  auto weights = group.Object("weights");
  if (!weights) return group.Mismatch("weights", "an object");
  CheckInt4Weights(*weights);
  group.Fail(weights->status());
}

void CheckCompressedTensors(ConfigFields& quant) {
  RequireText(quant, "format", "pack-quantized");
  RequireText(quant, "quantization_status", "compressed");
  RequireUnset(quant, "kv_cache_scheme", "an unquantised KV cache (null)");
  RequireUnset(quant, "sparsity_config", "dense weights (null)");
  // Which layers stay unquantised is read off the tensors; the list must still be one.
  if (const json* ignore = quant.Value("ignore"); ignore != nullptr) {
    bool names = ignore->is_array();
    for (std::size_t i = 0; names && i < ignore->size(); ++i) names = (*ignore)[i].is_string();
    if (!names) quant.Mismatch("ignore", "a list of names");
  }
  auto groups = quant.Object("config_groups");
  const json* group_values = quant.Value("config_groups");
  if (!groups || group_values->empty()) {
    return quant.Mismatch("config_groups", "an object with at least one group");
  }
  for (const auto& [name, value] : group_values->items()) {
    auto group = groups->Object(name);
    if (!group) return quant.Fail(groups->status());
    CheckGroup(*group);
    quant.Fail(group->status());
  }
}

void CheckFp8(ConfigFields& quant) {
  RequireText(quant, "fmt", "e4m3");
  RequireText(quant, "activation_scheme", "dynamic");
  const json* block = quant.Value("weight_block_size");
  if (block == nullptr || *block != json::array({tensor::kFp8Block, tensor::kFp8Block})) {
    quant.Unsupported("weight_block_size", "[128, 128]");
  }
}

}  // namespace

QuantMethod ReadQuantization(ConfigFields& parent) {
  auto quant = parent.Object("quantization_config");
  if (!quant) return QuantMethod::kNone;
  QuantMethod method = QuantMethod::kNone;
  const std::string name = quant->Text("quant_method", "");
  if (name == "compressed-tensors") {
    CheckCompressedTensors(*quant);
    method = QuantMethod::kInt4PackQuantized;
  } else if (name == "fp8") {
    CheckFp8(*quant);
    method = QuantMethod::kFp8Block;
  } else {
    quant->Unsupported("quant_method", "compressed-tensors and fp8");
  }
  parent.Fail(quant->status());
  return method;
}

nlohmann::ordered_json FormatQuantization(QuantMethod method) {
  using Json = nlohmann::ordered_json;
  switch (method) {
    case QuantMethod::kNone:
      return nullptr;
    case QuantMethod::kFp8Block:
      return {{"quant_method", "fp8"},
              {"fmt", "e4m3"},
              {"activation_scheme", "dynamic"},
              {"weight_block_size", {tensor::kFp8Block, tensor::kFp8Block}}};
    case QuantMethod::kInt4PackQuantized: {
      const Json weights = {{"num_bits", 4},
                            {"type", "int"},
                            {"symmetric", true},
                            {"strategy", "group"},
                            {"group_size", tensor::kInt4Group},
                            {"actorder", nullptr},
                            {"dynamic", false}};
      const Json group = {{"targets", Json::array({"Linear"})},
                          {"weights", weights},
                          {"input_activations", nullptr},
                          {"output_activations", nullptr}};
      // Kimi K2.6 quantises the routed experts alone.
      return {{"quant_method", "compressed-tensors"},
              {"format", "pack-quantized"},
              {"quantization_status", "compressed"},
              {"kv_cache_scheme", nullptr},
              {"config_groups", Json::object({{"group_0", group}})},
              {"ignore", Json::array({"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                                      "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"})}};
    }
  }
  return nullptr;
}

}  // namespace stoker::checkpoint
