#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "checkpoint/linear_lookup.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "sys/file.h"
#include "tensor/float_types.h"

namespace stoker::checkpoint {
namespace {

struct Shard {
  sys::MappedFile file;
  SafetensorsHeader header;
};

struct NamedTensor {
  std::string_view name;  // without the config's prefix
  std::uint32_t shard = 0;
  const TensorEntry* entry = nullptr;
};

bool IsVision(std::string_view name) {
  return name.starts_with("vision_tower.") || name.starts_with("mm_projector.") ||
         name.starts_with("multi_modal_projector.");
}

// "model.layers.61.…" of a model with 61 layers: multi-token prediction.
bool IsMtp(std::string_view name, const ModelConfig& config) {
  constexpr std::string_view kLayers = "model.layers.";
  if (config.mtp_layers == 0 || !name.starts_with(kLayers)) return false;
  name.remove_prefix(kLayers.size());
  const std::string number(name.substr(0, name.find('.')));
  std::uint32_t layer = 0;
  return absl::SimpleAtoi(number, &layer) && layer >= config.layers;
}

absl::StatusOr<Shard> OpenShard(const std::filesystem::path& path, bool named_by_index) {
  auto file = sys::MappedFile::Open(path);
  if (!file.ok()) {
    if (absl::IsNotFound(file.status()) && named_by_index) {
      return NotFound("{}: this shard is missing; the index names it", path.string());
    }
    return file.status();
  }
  auto header = SafetensorsHeader::Parse(file->bytes());
  STOKER_RETURN_IF_ERROR(file->CheckIntact());
  if (!header.ok()) return At(path.string(), header.status());
  return Shard{*std::move(file), *std::move(header)};
}

template <typename Stored>
std::vector<float> ToFloats(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    Stored value;
    std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    if constexpr (std::is_same_v<Stored, float>) {
      floats[i] = value;
    } else {
      floats[i] = tensor::ToFloat(value);
    }
  }
  return floats;
}

}  // namespace

struct Checkpoint::State {
  std::filesystem::path dir;
  ModelConfig config;
  std::vector<Shard> shards;
  std::vector<NamedTensor> tensors;  // in ascending order of name
  std::size_t skipped_vision = 0;
  std::size_t skipped_mtp = 0;

  [[nodiscard]] const NamedTensor* Lookup(std::string_view name) const {
    const auto place = std::lower_bound(
        tensors.begin(), tensors.end(), name,
        [](const NamedTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
    return place == tensors.end() || place->name != name ? nullptr : &*place;
  }
  [[nodiscard]] const std::filesystem::path& ShardPath(const NamedTensor& tensor) const {
    return shards[tensor.shard].file.path();
  }

  void AddTensors(std::uint32_t shard);
  absl::Status CheckNames() const;
  absl::Status CheckIndex(const ShardIndex& index) const;
};

void Checkpoint::State::AddTensors(std::uint32_t shard) {
  for (const TensorEntry& entry : shards[shard].header.tensors()) {
    std::string_view name = entry.name;
    if (IsVision(name)) {
      ++skipped_vision;
      continue;
    }
    if (!config.tensor_prefix.empty() && name.starts_with(config.tensor_prefix)) {
      name.remove_prefix(config.tensor_prefix.size());
    }
    if (IsMtp(name, config)) {
      ++skipped_mtp;
      continue;
    }
    tensors.push_back({name, shard, &entry});
  }
}

absl::Status Checkpoint::State::CheckNames() const {
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].name != tensors[i - 1].name) continue;
    return InvalidArgument("{}: tensor {} is also in {}", ShardPath(tensors[i]).string(),
                           QuotedName(tensors[i].name),
                           ShardPath(tensors[i - 1]).filename().string());
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::State::CheckIndex(const ShardIndex& index) const {
  for (const ShardIndex::Location& location : index.locations) {
    std::string_view name = location.tensor;
    if (IsVision(name)) continue;
    if (!config.tensor_prefix.empty() && name.starts_with(config.tensor_prefix)) {
      name.remove_prefix(config.tensor_prefix.size());
    }
    if (IsMtp(name, config)) continue;
    const NamedTensor* found = Lookup(name);
    if (found != nullptr && found->shard == location.shard) continue;
    return InvalidArgument("{}: tensor {} is not there, although the index says so",
                           shards[location.shard].file.path().string(),
                           QuotedName(location.tensor));
  }
  return absl::OkStatus();
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::filesystem::path& dir) {
  auto state = std::make_unique<State>();
  state->dir = dir;
  STOKER_ASSIGN_OR_RETURN(state->config, LoadModelConfig(dir / "config.json"));
  STOKER_ASSIGN_OR_RETURN(const ShardIndex index, FindShards(dir));
  state->shards.reserve(index.shards.size());
  for (const std::string& name : index.shards) {
    STOKER_ASSIGN_OR_RETURN(Shard shard, OpenShard(dir / name, !index.locations.empty()));
    state->shards.push_back(std::move(shard));
  }
  for (std::uint32_t shard = 0; shard < state->shards.size(); ++shard) state->AddTensors(shard);
  std::sort(state->tensors.begin(), state->tensors.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  STOKER_RETURN_IF_ERROR(state->CheckNames());
  STOKER_RETURN_IF_ERROR(state->CheckIndex(index));
  if (state->skipped_vision > 0) {
    spdlog::info("{}: left out {} vision tensors; Stoker reads text only", dir.string(),
                 state->skipped_vision);
  }
  if (state->skipped_mtp > 0) {
    spdlog::info("{}: left out {} tensors of multi-token prediction layers", dir.string(),
                 state->skipped_mtp);
  }
  return Checkpoint(std::move(state));
}

const ModelConfig& Checkpoint::config() const {
  return state_->config;
}

const std::filesystem::path& Checkpoint::directory() const {
  return state_->dir;
}

bool Checkpoint::Has(std::string_view name) const {
  return state_->Lookup(name) != nullptr;
}

absl::StatusOr<tensor::TensorView> Checkpoint::Find(std::string_view name) const {
  const NamedTensor* found = state_->Lookup(name);
  if (found == nullptr) {
    return NotFound("{}: there is no tensor {}", state_->dir.string(),
                    QuotedName(state_->config.tensor_prefix + std::string(name)));
  }
  const TensorEntry& entry = *found->entry;
  const std::span<const std::byte> file = state_->shards[found->shard].file.bytes();
  return tensor::TensorView{entry.dtype, entry.shape, file.subspan(entry.offset, entry.bytes)};
}

absl::StatusOr<std::vector<float>> Checkpoint::FindFloats(std::string_view name,
                                                          std::vector<std::size_t> shape) const {
  STOKER_ASSIGN_OR_RETURN(const tensor::TensorView view, Find(name));
  STOKER_RETURN_IF_ERROR(At(state_->dir.string(), CheckShape(name, view, shape)));
  switch (view.dtype) {
    case tensor::DType::kF32:
      return ToFloats<float>(view.data);
    case tensor::DType::kF16:
      return ToFloats<tensor::F16>(view.data);
    case tensor::DType::kBf16:
      return ToFloats<tensor::Bf16>(view.data);
    default:
      return InvalidArgument("{}: tensor {} has dtype {}; it must be F32, F16 or BF16",
                             state_->dir.string(), QuotedName(name), tensor::Name(view.dtype));
  }
}

absl::StatusOr<tensor::LinearWeight> Checkpoint::FindLinear(std::string_view name, std::size_t rows,
                                                            std::size_t cols) const {
  auto weight = LookUpLinear(*this, name, rows, cols);
  if (!weight.ok()) return At(state_->dir.string(), weight.status());
  return weight;
}

std::string Checkpoint::Place(std::string_view name) const {
  const std::vector<NamedTensor>& tensors = state_->tensors;
  const auto first = std::ranges::lower_bound(tensors, name, {}, &NamedTensor::name);
  const std::string stored = fmt::format("{}{}", state_->config.tensor_prefix, name);
  const bool there = first != tensors.end() && first->name.starts_with(name);
  return fmt::format("{}: {}", (there ? state_->ShardPath(*first) : state_->dir).string(), stored);
}

std::vector<std::string> Checkpoint::TensorNames() const {
  std::vector<std::string> names;
  names.reserve(state_->tensors.size());
  for (const NamedTensor& tensor : state_->tensors) names.emplace_back(tensor.entry->name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status Checkpoint::CheckIntact() const {
  for (const Shard& shard : state_->shards) STOKER_RETURN_IF_ERROR(shard.file.CheckIntact());
  return absl::OkStatus();
}

std::uint64_t Checkpoint::tensor_bytes() const {
  std::uint64_t bytes = 0;
  for (const NamedTensor& tensor : state_->tensors) bytes += tensor.entry->bytes;
  return bytes;
}

}  // namespace stoker::checkpoint
