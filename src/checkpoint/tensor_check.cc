#include "checkpoint/tensor_check.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/safetensors.h"

namespace stoker::checkpoint {
namespace {

// The tensors that a model has, as they are stored.
class ModelNames {
 public:
  explicit ModelNames(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  absl::Status Add(const std::vector<ModelTensor>& weights) {
    for (const ModelTensor& weight : weights) {
      STOKER_ASSIGN_OR_RETURN(const ModelTensor stored, AsStored(weight));
      for (TensorSpec& tensor : StoredTensors(checkpoint_.config(), stored)) {
        names_.push_back(std::move(tensor.name));
      }
    }
    return absl::OkStatus();
  }

  std::vector<std::string> TakeSorted() {
    std::ranges::sort(names_);
    return std::move(names_);
  }

 private:
  // The weight in the format that the folder really has it in.
  [[nodiscard]] absl::StatusOr<ModelTensor> AsStored(ModelTensor weight) const {
    if (weight.cols > 0) {
      STOKER_ASSIGN_OR_RETURN(const tensor::LinearWeight found,
                              checkpoint_.FindLinear(weight.name, weight.rows, weight.cols));
      weight.format = found.format;
      return weight;
    }
    const ModelConfig& config = checkpoint_.config();
    for (const TensorSpec& tensor : StoredTensors(config, weight)) {
      const std::string name = tensor.name.substr(config.tensor_prefix.size());
      STOKER_RETURN_IF_ERROR(checkpoint_.FindFloats(name, {weight.rows}).status());
    }
    return weight;
  }

  const Checkpoint& checkpoint_;
  std::vector<std::string> names_;
};

absl::StatusOr<std::vector<std::string>> NamesOf(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  ModelNames names(checkpoint);
  STOKER_RETURN_IF_ERROR(names.Add(OuterTensors(config)));
  for (std::size_t i = 0; i < config.layers; ++i) {
    const LayerId layer{static_cast<std::int32_t>(i)};
    STOKER_RETURN_IF_ERROR(names.Add(LayerTensors(config, layer)));
    if (!config.IsMoe(layer)) continue;
    for (std::size_t expert = 0; expert < config.router.experts; ++expert) {
      STOKER_RETURN_IF_ERROR(
          names.Add(ExpertTensors(config, {layer, static_cast<std::int32_t>(expert)})));
    }
  }
  return names.TakeSorted();
}

}  // namespace

absl::Status CheckTensors(const Checkpoint& checkpoint) {
  STOKER_ASSIGN_OR_RETURN(const std::vector<std::string> known, NamesOf(checkpoint));
  std::vector<std::string> others;
  std::ranges::set_difference(checkpoint.TensorNames(), known, std::back_inserter(others));
  std::erase_if(others, [](const std::string& name) { return name.ends_with(".inv_freq"); });
  if (others.empty()) return absl::OkStatus();
  return InvalidArgument(
      "{}: the model that config.json describes has no tensor {} ({} such tensors); is it the "
      "config.json of these weights?",
      checkpoint.directory().string(), QuotedName(others.front()), others.size());
}

}  // namespace stoker::checkpoint
