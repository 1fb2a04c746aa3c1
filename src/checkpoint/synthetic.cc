#include "checkpoint/synthetic.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/units.h"
#include "checkpoint/model_stats.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/synthetic_fill.h"
#include "checkpoint/synthetic_tokenizer.h"
#include "fmt/format.h"
#include "sys/file.h"

namespace stoker::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::uint64_t kOtherFilesBytes = std::uint64_t{64} << 20;  // index, config, tokenizer

struct SyntheticTensor {
  TensorSpec spec;
  FillSpec fill;
};
using SyntheticShard = std::vector<SyntheticTensor>;

// Rows that pass through a matrix of this deviation keep their size.
double Deviation(const ModelTensor& weight) {
  if (weight.weight_class == WeightClass::kEmbedding) return 1.0;
  if (weight.cols == 0) return 0.02;  // the router's bias: small beside a spread of scores of 0.2
  return 1.0 / std::sqrt(static_cast<double>(weight.cols));
}

// How to fill the tensors of StoredTensors, in its order.
std::vector<Fill> Fills(const ModelTensor& weight) {
  switch (weight.format) {
    case tensor::WeightFormat::kInt4Group32:
      return {Fill::kInt4Codes, Fill::kInt4Scale, Fill::kMatrixShape};
    case tensor::WeightFormat::kFp8Block128:
      return {Fill::kFp8Codes, Fill::kFp8Scale};
    case tensor::WeightFormat::kF32:
      return {Fill::kUniformF32};
    case tensor::WeightFormat::kF16:
    case tensor::WeightFormat::kBf16:
      break;
  }
  return {weight.weight_class == WeightClass::kNorms ? Fill::kOneBf16 : Fill::kUniformBf16};
}

// Cuts the model's tensors, in their natural order, into shards.
class ShardPlanner {
 public:
  explicit ShardPlanner(const SyntheticOptions& options, const ModelConfig& config)
      : options_(options), config_(config) {}

  void Add(const std::vector<ModelTensor>& weights) {
    for (const ModelTensor& weight : weights) {
      const std::vector<Fill> fills = Fills(weight);
      std::vector<TensorSpec> specs = StoredTensors(config_, weight);
      for (std::size_t i = 0; i < specs.size(); ++i) {
        FillSpec fill;
        fill.fill = fills[i];
        fill.key = FillKey(options_.seed, specs[i].name);
        fill.deviation = Deviation(weight);
        fill.rows = static_cast<std::int32_t>(weight.rows);
        fill.cols = static_cast<std::int32_t>(weight.cols);
        Place({std::move(specs[i]), fill});
      }
    }
  }
  std::vector<SyntheticShard> Take() { return std::move(shards_); }

 private:
  void Place(SyntheticTensor tensor) {
    const std::uint64_t bytes = tensor.spec.bytes();
    if (shards_.empty() || shard_bytes_ + bytes > options_.max_shard_bytes) {
      shards_.emplace_back();
      shard_bytes_ = 0;
    }
    shard_bytes_ += bytes;
    shards_.back().push_back(std::move(tensor));
  }

  const SyntheticOptions& options_;
  const ModelConfig& config_;
  std::vector<SyntheticShard> shards_;
  std::uint64_t shard_bytes_ = 0;
};

ModelConfig WrittenConfig(const SyntheticOptions& options) {
  ModelConfig config = options.config;
  config.quant = options.format;
  config.dtype = tensor::DType::kBf16;
  config.mtp_layers = 0;
  config.begin_token = kByteTokenizerBegin;
  config.end_tokens = {kByteTokenizerEnd};
  return config;
}

std::vector<SyntheticShard> PlanShards(const SyntheticOptions& options, const ModelConfig& config) {
  ShardPlanner planner(options, config);
  planner.Add(OuterTensors(config));
  for (std::size_t index = 0; index < config.layers; ++index) {
    const LayerId layer{static_cast<std::int32_t>(index)};
    planner.Add(LayerTensors(config, layer));
    if (!config.IsMoe(layer)) continue;
    for (std::size_t expert = 0; expert < config.router.experts; ++expert) {
      planner.Add(ExpertTensors(config, {layer, static_cast<std::int32_t>(expert)}));
    }
  }
  return planner.Take();
}

// Keeps the plan, and what whoever opens the checkpoint holds, in bounds: forty times Kimi K2's
// experts.
absl::Status CheckTensorCount(const ModelConfig& config) {
  constexpr std::uint64_t kMostExperts = 1'000'000;
  const std::uint64_t experts = std::uint64_t{config.layers} * config.router.experts;
  if (experts <= kMostExperts) return absl::OkStatus();
  return InvalidArgument("{} layers of {} experts are too many: at most {} experts in all",
                         config.layers, config.router.experts, kMostExperts);
}

std::string HeaderOf(const SyntheticShard& shard) {
  std::vector<TensorSpec> specs;
  specs.reserve(shard.size());
  for (const SyntheticTensor& tensor : shard) specs.push_back(tensor.spec);
  return FormatSafetensorsHeader(specs);
}

std::uint64_t TotalBytes(const std::vector<SyntheticShard>& shards) {
  std::uint64_t bytes = 0;
  for (const SyntheticShard& shard : shards) {
    bytes += HeaderOf(shard).size();
    for (const SyntheticTensor& tensor : shard) bytes += tensor.spec.bytes();
  }
  return bytes;
}

// Counts bytes from all threads; once the caller says stop, every later Add fails.
class Progress {
 public:
  Progress(const SyntheticOptions& options, std::uint64_t total)
      : options_(options), total_(total) {}

  absl::Status Add(std::uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ += bytes;
    if (!cancelled_ && options_.progress) cancelled_ = !options_.progress(done_, total_);
    return cancelled_ ? Cancelled("stopped before the checkpoint was whole") : absl::OkStatus();
  }

 private:
  const SyntheticOptions& options_;
  const std::uint64_t total_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  bool cancelled_ = false;
};

// Collects the tensors' bytes and passes them on in large pieces.
class ShardWriter {
 public:
  ShardWriter(sys::FileWriter& file, Progress& progress)
      : file_(file), progress_(progress), buffer_(kBufferBytes) {}

  absl::Status Write(const SyntheticTensor& tensor) {
    const std::uint64_t bytes = tensor.spec.bytes();
    for (std::uint64_t offset = 0; offset < bytes;) {
      // Pieces of a tensor begin at multiples of 8 of its bytes.
      const std::size_t room = buffer_.size() - used_;
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(bytes - offset, room / 8 * 8));
      if (piece == 0) {
        STOKER_RETURN_IF_ERROR(Flush());
        continue;
      }
      FillBytes(tensor.fill, offset, std::span(buffer_).subspan(used_, piece));
      used_ += piece;
      offset += piece;
    }
    return absl::OkStatus();
  }

  absl::Status Flush() {
    STOKER_RETURN_IF_ERROR(file_.Append(std::span<const std::byte>(buffer_).first(used_)));
    return progress_.Add(std::exchange(used_, 0));
  }

 private:
  sys::FileWriter& file_;
  Progress& progress_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

absl::Status WriteShard(const SyntheticShard& shard, const fs::path& path, Progress& progress) {
  STOKER_ASSIGN_OR_RETURN(sys::FileWriter file, sys::FileWriter::Create(path));
  const std::string header = HeaderOf(shard);
  STOKER_RETURN_IF_ERROR(file.Append(header));
  STOKER_RETURN_IF_ERROR(progress.Add(header.size()));
  ShardWriter writer(file, progress);
  for (const SyntheticTensor& tensor : shard) STOKER_RETURN_IF_ERROR(writer.Write(tensor));
  STOKER_RETURN_IF_ERROR(writer.Flush());
  return file.Commit();
}

// The folder that a checkpoint is written to. Unless Keep is called, what was written goes again.
class OutputDir {
 public:
  explicit OutputDir(fs::path dir) : dir_(std::move(dir)) {}
  OutputDir(const OutputDir&) = delete;
  OutputDir& operator=(const OutputDir&) = delete;
  ~OutputDir() {
    if (kept_) return;
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
    if (created_) fs::remove(dir_, ignored);
  }

  absl::Status Create() {
    std::error_code error;
    if (!fs::exists(dir_, error)) {
      created_ = fs::create_directories(dir_, error);
      if (error) {
        return Unavailable("{}: cannot make the folder: {}", dir_.string(), error.message());
      }
      return absl::OkStatus();
    }
    if (!fs::is_directory(dir_, error)) return InvalidArgument("{}: not a folder", dir_.string());
    const bool empty = fs::is_empty(dir_, error);
    if (error) return Unavailable("{}: cannot look inside: {}", dir_.string(), error.message());
    return empty ? absl::OkStatus() : absl::FailedPreconditionError(WhyNotEmpty());
  }

  absl::Status CheckRoom(std::uint64_t bytes) const {
    std::error_code error;
    const fs::space_info space = fs::space(dir_, error);
    if (error || space.available >= bytes + kOtherFilesBytes) return absl::OkStatus();
    return ResourceExhausted("{}: the checkpoint takes {}, but only {} are free there",
                             dir_.string(), FormatBytes(bytes + kOtherFilesBytes),
                             FormatBytes(space.available));
  }

  [[nodiscard]] fs::path File(std::string_view name) const { return dir_ / name; }

  // Takes note that a file is in place now, and so ours to remove. From one thread at a time.
  void Wrote(const fs::path& file) { files_.push_back(file); }

  void Keep() { kept_ = true; }

 private:
  [[nodiscard]] std::string WhyNotEmpty() const {
    std::error_code error;
    fs::directory_iterator entry(dir_, error);
    for (; !error && entry != fs::end(entry); entry.increment(error)) {
      if (entry->path().extension() != ".partial") continue;
      return fmt::format(
          "{}: another run is writing this file, or one was killed while it did; then remove what "
          "is in the folder and try again",
          entry->path().string());
    }
    return fmt::format("{}: there are files in this folder; name a new or an empty one",
                       dir_.string());
  }

  fs::path dir_;
  std::vector<fs::path> files_;
  bool created_ = false;
  bool kept_ = false;
};

// Writes all shards, each from one of `threads` threads. Returns the first error.
absl::Status WriteShards(const std::vector<SyntheticShard>& shards,
                         const std::vector<fs::path>& paths, int threads, Progress& progress,
                         OutputDir& output) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  absl::Status first_error;
  const auto work = [&] {
    for (std::size_t i = next++; i < shards.size(); i = next++) {
      absl::Status status = WriteShard(shards[i], paths[i], progress);
      const std::lock_guard<std::mutex> lock(mutex);
      if (status.ok()) {
        output.Wrote(paths[i]);
        continue;
      }
      next = shards.size();  // nobody begins another
      if (first_error.ok()) first_error = std::move(status);
      return;
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < threads && static_cast<std::size_t>(i) < shards.size(); ++i) {
      helpers.emplace_back(work);
    }
  } catch (const std::system_error&) {
    // No more threads: those there are do the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return first_error;
}

absl::Status WriteText(OutputDir& output, std::string_view name, std::string_view text) {
  const fs::path path = output.File(name);
  STOKER_ASSIGN_OR_RETURN(sys::FileWriter file, sys::FileWriter::Create(path));
  STOKER_RETURN_IF_ERROR(file.Append(text));
  STOKER_RETURN_IF_ERROR(file.Commit());
  output.Wrote(path);
  return absl::OkStatus();
}

ShardIndex IndexOf(const std::vector<SyntheticShard>& shards, std::uint64_t& tensor_bytes) {
  ShardIndex index;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    index.shards.push_back(
        fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards.size()));
    for (const SyntheticTensor& tensor : shards[shard]) {
      index.locations.push_back({tensor.spec.name, shard});
      tensor_bytes += tensor.spec.bytes();
    }
  }
  return index;
}

}  // namespace

std::uint64_t SyntheticCheckpointBytes(const SyntheticOptions& options) {
  return TotalBytes(PlanShards(options, WrittenConfig(options)));
}

absl::Status WriteSyntheticCheckpoint(const SyntheticOptions& options, const fs::path& dir) {
  const ModelConfig config = WrittenConfig(options);
  if (config.vocab < kByteTokenizerVocab) {
    return InvalidArgument(
        "vocab_size is {}; a synthetic checkpoint takes at least {}: 256 bytes "
        "and 256 special tokens",
        config.vocab, kByteTokenizerVocab);
  }
  const std::string config_text = FormatModelConfig(config);
  // Whatever the shape came from, this format may ask more of it (INT4: widths in groups of 32).
  STOKER_RETURN_IF_ERROR(ParseModelConfig(config_text).status());

  STOKER_RETURN_IF_ERROR(CheckTensorCount(config));

  OutputDir output(dir);
  STOKER_RETURN_IF_ERROR(output.Create());
  // Before the plan, which takes memory for every tensor.
  STOKER_RETURN_IF_ERROR(output.CheckRoom(ComputeModelStats(config).total.bytes));
  const std::vector<SyntheticShard> shards = PlanShards(options, config);
  const std::uint64_t total_bytes = TotalBytes(shards);
  STOKER_RETURN_IF_ERROR(output.CheckRoom(total_bytes));

  std::uint64_t tensor_bytes = 0;
  const ShardIndex index = IndexOf(shards, tensor_bytes);
  std::vector<fs::path> paths;
  for (const std::string& name : index.shards) paths.push_back(output.File(name));
  Progress progress(options, total_bytes);
  STOKER_RETURN_IF_ERROR(WriteShards(shards, paths, options.threads, progress, output));
  STOKER_RETURN_IF_ERROR(WriteText(output, "tiktoken.model", ByteTokenizerRanks()));
  STOKER_RETURN_IF_ERROR(WriteText(output, "tokenizer_config.json", ByteTokenizerConfig()));
  STOKER_RETURN_IF_ERROR(
      WriteText(output, "model.safetensors.index.json", FormatShardIndex(index, tensor_bytes)));
  STOKER_RETURN_IF_ERROR(WriteText(output, "config.json", config_text));
  output.Keep();
  return absl::OkStatus();
}

}  // namespace stoker::checkpoint
