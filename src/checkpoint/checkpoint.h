#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/model_config.h"
#include "tensor/linear_weight.h"
#include "tensor/view.h"

namespace stoker::checkpoint {

/// A Hugging Face checkpoint folder, opened and validated: config.json and every safetensors shard,
/// memory-mapped. Immutable after Open; safe from any thread.
class Checkpoint {
 public:
  /// Opens DIR: the shards that FindShards names.
  /// Errors: one line naming the file and, where there is one, the tensor: missing or truncated
  /// shard, overlapping or out-of-range offsets, unknown dtype, a shape that does not match its
  /// bytes, an index that names a tensor its shard lacks.
  static absl::StatusOr<Checkpoint> Open(const std::filesystem::path& dir);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  [[nodiscard]] const ModelConfig& config() const;
  [[nodiscard]] const std::filesystem::path& directory() const;

  /// Whether there is a tensor of this name (without the config's tensor prefix).
  [[nodiscard]] bool Has(std::string_view name) const;

  /// The tensor `name` (without the config's tensor prefix). The view lives as long as the
  /// checkpoint. Errors: kNotFound.
  [[nodiscard]] absl::StatusOr<tensor::TensorView> Find(std::string_view name) const;

  /// A float tensor of exactly this shape, converted to float32. Errors: kNotFound,
  /// kInvalidArgument for another shape or a dtype that is not F32, F16 or BF16.
  [[nodiscard]] absl::StatusOr<std::vector<float>> FindFloats(std::string_view name,
                                                              std::vector<std::size_t> shape) const;

  /// The weights of the linear layer `name` ("model.layers.0.self_attn.o_proj", without ".weight"),
  /// in whichever format the checkpoint holds: NAME.weight (F32, F16, BF16), NAME.weight with
  /// NAME.weight_scale_inv (FP8), or NAME.weight_packed with .weight_scale and .weight_shape
  /// (INT4). Errors: kNotFound, kInvalidArgument for another shape than [rows, cols] or wrong
  /// scales.
  [[nodiscard]] absl::StatusOr<tensor::LinearWeight> FindLinear(std::string_view name,
                                                                std::size_t rows,
                                                                std::size_t cols) const;

  /// Where the tensor or linear layer `name` lies, for messages: its shard's path, and its name as
  /// stored there. The folder where there is none of that name.
  [[nodiscard]] std::string Place(std::string_view name) const;

  /// Every tensor's name as stored, in ascending order.
  [[nodiscard]] std::vector<std::string> TensorNames() const;

  /// Whether every byte read so far came from the files: a shard that shrinks, or whose disk fails,
  /// reads as zeros from there on. Errors: kDataLoss, naming the shard.
  [[nodiscard]] absl::Status CheckIntact() const;

  /// Bytes of all tensors that were not left out.
  [[nodiscard]] std::uint64_t tensor_bytes() const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stoker::checkpoint
