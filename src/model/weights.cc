#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "base/units.h"
#include "checkpoint/tensor_check.h"
#include "kernels/panel_tasks.h"
#include "tensor/dequantise.h"

namespace stoker::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ModelConfig;
using kernels::MlpWeights;
using kernels::PackedMatrix;
using tensor::LinearWeight;
using tensor::WeightFormat;

constexpr std::size_t kExpertAlignment = 4096;
constexpr std::size_t kMatrixAlignment = 64;
constexpr std::size_t kTaskBytes = std::size_t{1} << 20;  // packed bytes one worker takes at a time

// One head's part of kv_b_proj.
struct HeadBlock {
  tensor::BlockOfRows rows;
  bool transposed;
};

// Loading has two passes over the same walk of the model: first every matrix gets its place in one
// arena (offsets in PackedMatrix::data stay null until the arena exists), then all are packed.
struct PlannedMatrix {
  std::string name;  // for errors
  LinearWeight source;
  PackedMatrix* target;
  std::size_t offset;
  bool must_be_finite = false;  // a bad value would change answers and not show in them
  std::optional<HeadBlock> block = {};
};

bool IsQuantised(WeightFormat format) {
  return format == WeightFormat::kFp8Block128 || format == WeightFormat::kInt4Group32;
}

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, const kernels::Context& context, const LoadOptions& options)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        context_(context),
        options_(options) {}

  absl::StatusOr<ModelWeights> Load() {
    weights_.layers.resize(config_.layers);
    experts_.resize(config_.layers);
    STOKER_RETURN_IF_ERROR(PlanEmbedding());
    for (std::size_t layer = 0; layer < config_.layers; ++layer) {
      STOKER_RETURN_IF_ERROR(PlanAttention(layer));
      STOKER_RETURN_IF_ERROR(PlanFeedForward(layer));
    }
    STOKER_RETURN_IF_ERROR(PlanHead());
    STOKER_RETURN_IF_ERROR(AllocateArena());
    STOKER_RETURN_IF_ERROR(PackAll());
    weights_.experts = std::make_unique<experts::ResidentExperts>(std::move(experts_));
    return std::move(weights_);
  }

 private:
  static std::string LayerName(std::size_t layer, std::string_view rest) {
    return fmt::format("model.layers.{}.{}", layer, rest);
  }

  std::size_t TakeSpace(std::size_t bytes, std::size_t alignment) {
    total_bytes_ = (total_bytes_ + alignment - 1) / alignment * alignment;
    return std::exchange(total_bytes_, total_bytes_ + bytes);
  }

  PlannedMatrix& PlanMatrix(const std::string& name, const LinearWeight& source,
                            PackedMatrix& target, std::size_t alignment = kMatrixAlignment) {
    target = {.format = source.format, .rows = source.rows, .cols = source.cols, .data = nullptr};
    return planned_.emplace_back(
        PlannedMatrix{name, source, &target, TakeSpace(target.bytes(), alignment)});
  }

  absl::Status PlanLinear(const std::string& name, std::size_t rows, std::size_t cols,
                          PackedMatrix& target, std::size_t alignment = kMatrixAlignment) {
    STOKER_ASSIGN_OR_RETURN(const LinearWeight source, checkpoint_.FindLinear(name, rows, cols));
    PlanMatrix(name, source, target, alignment);
    return absl::OkStatus();
  }

  absl::Status PlanMlp(const std::string& prefix, std::size_t width, MlpWeights& mlp,
                       std::size_t alignment = kMatrixAlignment) {
    const std::size_t hidden = config_.hidden;
    // In this order and aligned once: an expert is one contiguous blob.
    STOKER_RETURN_IF_ERROR(PlanLinear(prefix + ".gate_proj", width, hidden, mlp.gate, alignment));
    STOKER_RETURN_IF_ERROR(PlanLinear(prefix + ".up_proj", width, hidden, mlp.up));
    return PlanLinear(prefix + ".down_proj", hidden, width, mlp.down);
  }

  absl::Status LoadFloats(const std::string& name, std::size_t size, std::vector<float>& target) {
    STOKER_ASSIGN_OR_RETURN(target, checkpoint_.FindFloats(name, {size}));
    // In a router's bias they would change the choice of experts, and the answer stay finite.
    const auto bad =
        std::ranges::find_if(target, [](float value) { return !std::isfinite(value); });
    if (bad == target.end()) return absl::OkStatus();
    return DataLoss("{}: the value at {} is not a finite number", checkpoint_.Place(name),
                    bad - target.begin());
  }

  absl::Status PlanEmbedding() {
    constexpr std::string_view kName = "model.embed_tokens";
    STOKER_RETURN_IF_ERROR(
        PlanLinear(std::string(kName), config_.vocab, config_.hidden, weights_.embedding));
    const WeightFormat format = weights_.embedding.format;
    if (!IsQuantised(format)) return absl::OkStatus();
    return Unimplemented("{}: a quantised embedding ({}) is not supported",
                         checkpoint_.Place(kName), Name(format));
  }

  absl::Status PlanHead() {
    STOKER_RETURN_IF_ERROR(LoadFloats("model.norm.weight", config_.hidden, weights_.final_norm));
    if (config_.tied_embeddings) return absl::OkStatus();  // AllocateArena sets it
    return PlanLinear("lm_head", config_.vocab, config_.hidden, weights_.head);
  }

  absl::Status PlanAttention(std::size_t layer) {
    AttentionWeights& attention = weights_.layers[layer].attention;
    const std::size_t hidden = config_.hidden;
    const std::size_t q_rows = config_.heads * (config_.qk_nope_dim + config_.qk_rope_dim);
    const auto name = [layer](std::string_view rest) {
      return LayerName(layer, fmt::format("self_attn.{}", rest));
    };
    STOKER_RETURN_IF_ERROR(
        LoadFloats(LayerName(layer, "input_layernorm.weight"), hidden, attention.input_norm));
    if (config_.q_lora_rank > 0) {
      STOKER_RETURN_IF_ERROR(
          PlanLinear(name("q_a_proj"), config_.q_lora_rank, hidden, attention.q_a));
      STOKER_RETURN_IF_ERROR(
          LoadFloats(name("q_a_layernorm.weight"), config_.q_lora_rank, attention.q_a_norm));
      STOKER_RETURN_IF_ERROR(
          PlanLinear(name("q_b_proj"), q_rows, config_.q_lora_rank, attention.q_b));
    } else {
      STOKER_RETURN_IF_ERROR(PlanLinear(name("q_proj"), q_rows, hidden, attention.q_b));
    }
    STOKER_RETURN_IF_ERROR(PlanLinear(name("kv_a_proj_with_mqa"),
                                      config_.kv_lora_rank + config_.qk_rope_dim, hidden,
                                      attention.kv_a));
    STOKER_RETURN_IF_ERROR(
        LoadFloats(name("kv_a_layernorm.weight"), config_.kv_lora_rank, attention.kv_a_norm));
    STOKER_RETURN_IF_ERROR(PlanKvB(name("kv_b_proj"), attention));
    return PlanLinear(name("o_proj"), hidden, config_.heads * config_.v_head_dim, attention.o);
  }

  // Takes kv_b_proj [heads * (nope + v), latent] apart: per head the keys' part transposed and the
  // values' part as it is.
  absl::Status PlanKvB(const std::string& name, AttentionWeights& attention) {
    const std::size_t nope = config_.qk_nope_dim;
    const std::size_t v = config_.v_head_dim;
    const std::size_t latent = config_.kv_lora_rank;
    const std::size_t head_rows = nope + v;
    STOKER_ASSIGN_OR_RETURN(const LinearWeight source,
                            checkpoint_.FindLinear(name, config_.heads * head_rows, latent));
    const bool quantised = IsQuantised(source.format);
    const WeightFormat format =
        !quantised ? source.format : (options_.exact ? WeightFormat::kF32 : WeightFormat::kBf16);
    const auto plan = [&](const HeadBlock& block, PackedMatrix& target) {
      const tensor::BlockOfRows& rows = block.rows;
      const LinearWeight shape = {.format = format,
                                  .rows = block.transposed ? rows.cols : rows.rows,
                                  .cols = block.transposed ? rows.rows : rows.cols};
      PlannedMatrix& planned = PlanMatrix(name, shape, target);
      planned.source = source;
      planned.must_be_finite = quantised;
      planned.block = block;
    };
    attention.key_up.resize(config_.heads);
    attention.value_up.resize(config_.heads);
    for (std::size_t head = 0; head < config_.heads; ++head) {
      const std::size_t first_row = head * head_rows;
      plan({{first_row, nope, latent}, true}, attention.key_up[head]);
      plan({{first_row + nope, v, latent}, false}, attention.value_up[head]);
    }
    return absl::OkStatus();
  }

  absl::Status PlanFeedForward(std::size_t layer) {
    FeedForwardWeights& ffn = weights_.layers[layer].feed_forward;
    STOKER_RETURN_IF_ERROR(
        LoadFloats(LayerName(layer, "post_attention_layernorm.weight"), config_.hidden, ffn.norm));
    if (!config_.IsMoe(LayerId{static_cast<std::int32_t>(layer)})) {
      return PlanMlp(LayerName(layer, "mlp"), config_.dense_width, ffn.dense);
    }
    const std::size_t experts = config_.router.experts;
    STOKER_RETURN_IF_ERROR(
        PlanLinear(LayerName(layer, "mlp.gate"), experts, config_.hidden, ffn.router));
    planned_.back().must_be_finite = true;
    STOKER_RETURN_IF_ERROR(
        LoadFloats(LayerName(layer, "mlp.gate.e_score_correction_bias"), experts, ffn.router_bias));
    if (config_.shared_experts > 0) {
      STOKER_RETURN_IF_ERROR(
          PlanMlp(LayerName(layer, "mlp.shared_experts"), config_.shared_width(), ffn.shared));
    }
    experts_[layer].resize(experts);
    for (std::size_t expert = 0; expert < experts; ++expert) {
      STOKER_RETURN_IF_ERROR(PlanMlp(LayerName(layer, fmt::format("mlp.experts.{}", expert)),
                                     config_.expert_width, experts_[layer][expert],
                                     kExpertAlignment));
    }
    return absl::OkStatus();
  }

  absl::Status AllocateArena() {
    STOKER_RETURN_IF_ERROR(CheckMemory());
    STOKER_ASSIGN_OR_RETURN(weights_.memory, sys::HugeBuffer::Allocate(total_bytes_));
    std::byte* base = weights_.memory.bytes().data();
    for (const PlannedMatrix& matrix : planned_) matrix.target->data = base + matrix.offset;
    if (config_.tied_embeddings) weights_.head = weights_.embedding;
    return absl::OkStatus();
  }

  [[nodiscard]] absl::Status CheckMemory() const {
    const std::optional<std::uint64_t> available = sys::AvailableMemoryBytes();
    const RunMemory& beside = options_.beside;
    if (!available || total_bytes_ + beside.cache + beside.workspace <= *available) {
      return absl::OkStatus();
    }
    if (total_bytes_ > *available) {
      return ResourceExhausted("the weights take {} and only {} of memory are available",
                               FormatBytes(total_bytes_), FormatBytes(*available));
    }
    return ResourceExhausted(
        "the context does not fit in memory: weights {} + KV cache {} + workspace {} are needed, "
        "{} are available; choose a smaller --context",
        FormatBytes(total_bytes_), FormatBytes(beside.cache), FormatBytes(beside.workspace),
        FormatBytes(*available));
  }

  absl::Status PackAll() {
    const LoadProgress& progress = options_.progress;
    std::size_t done = 0;
    std::size_t first = 0;  // of the matrices not yet packed
    std::size_t batch_bytes = 0;
    constexpr std::size_t kBatchBytes = std::size_t{256} << 20;  // between two looks at progress
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      batch_bytes += planned_[i].target->bytes();
      if (batch_bytes < kBatchBytes && i + 1 < planned_.size()) continue;
      STOKER_RETURN_IF_ERROR(Pack(std::span(planned_).subspan(first, i + 1 - first)));
      first = i + 1;
      done += std::exchange(batch_bytes, 0);
      if (progress && !progress(done, total_bytes_)) return Cancelled("loading was interrupted");
    }
    return absl::OkStatus();
  }

  // The workers that later read a panel write it: so its memory is their node's.
  absl::Status Pack(std::span<const PlannedMatrix> matrices) {
    kernels::PanelTasks tasks;
    tasks.Assign(context_.pool->workers_per_node(), matrices.size(), [&](std::size_t i) {
      const PackedMatrix& target = *matrices[i].target;
      return kernels::PanelTasks::Cut{
          .units = target.panels(),
          .step = std::max<std::size_t>(1, kTaskBytes / target.panel_bytes())};
    });
    // Of several bad weights the first is named, whichever worker meets it when.
    std::mutex mutex;
    absl::Status first_error;
    std::size_t first_bad = tasks.size();
    const auto pack = [&](std::size_t task, int /*worker*/) {
      const kernels::PanelTasks::Piece& piece = tasks[task];
      const PlannedMatrix& matrix = matrices[piece.job];
      const absl::Status status = PackPiece(matrix, piece.first, piece.count);
      if (status.ok()) return;
      const std::lock_guard lock(mutex);
      if (task < first_bad) {
        first_bad = task;
        first_error = At(checkpoint_.Place(matrix.name), status);
      }
    };
    context_.pool->ParallelFor(tasks.shares(), pack, sys::ThreadPool::Help::kNo);
    return first_error;
  }

  static absl::Status PackPiece(const PlannedMatrix& matrix, std::size_t first_panel,
                                std::size_t panel_count) {
    if (!matrix.block) {
      if (matrix.must_be_finite) {
        const std::size_t first_row = first_panel * kernels::kPanelRows;
        const std::size_t rows =
            std::min(panel_count * kernels::kPanelRows, matrix.source.rows - first_row);
        STOKER_RETURN_IF_ERROR(tensor::CheckFinite(matrix.source, first_row, rows));
      }
      return kernels::PackPanels(matrix.source, *matrix.target, first_panel, panel_count);
    }
    // A head's block is small, and seldom more than one piece: each makes its own copy.
    const auto& [rows, transposed] = *matrix.block;
    if (matrix.must_be_finite) {
      STOKER_RETURN_IF_ERROR(tensor::CheckFinite(matrix.source, rows.first_row, rows.rows));
    }
    const WeightFormat format = matrix.target->format;
    const tensor::OwnedWeight block = transposed
                                          ? tensor::TransposedBlock(matrix.source, format, rows)
                                          : tensor::CopiedBlock(matrix.source, format, rows);
    return kernels::PackPanels(block.view(), *matrix.target, first_panel, panel_count);
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const kernels::Context& context_;
  const LoadOptions& options_;

  ModelWeights weights_;
  std::vector<std::vector<MlpWeights>> experts_;  // [layer][expert]
  std::vector<PlannedMatrix> planned_;
  std::size_t total_bytes_ = 0;
};

}  // namespace

absl::StatusOr<ModelWeights> LoadWeights(const checkpoint::Checkpoint& checkpoint,
                                         const kernels::Context& context,
                                         const LoadOptions& options) {
  STOKER_RETURN_IF_ERROR(checkpoint::CheckTensors(checkpoint));
  auto weights = Loader(checkpoint, context, options).Load();
  STOKER_RETURN_IF_ERROR(checkpoint.CheckIntact());
  return weights;
}

}  // namespace stoker::model
