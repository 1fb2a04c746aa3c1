#include "model/deepseek_v3.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "tensor/dequantise.h"
#include "tensor/matrix.h"

namespace stoker::model {

using kernels::Activations;
using kernels::LinearJob;
using kernels::MlpJob;
using kernels::PackedMatrix;
using tensor::MatrixView;
using tensor::WeightFormat;

// transformers and DeepSeek's own code leave out the argument for the norms of the low-rank paths,
// so that these do not follow rms_norm_eps.
constexpr float kLowRankNormEps = 1e-6F;

// Everything a step writes besides the cache. `hidden` is the residual stream.
struct DeepseekV3::Buffers {
  std::size_t tokens = 0;
  std::vector<TokenId> ids;                   // [tokens]
  std::vector<std::int32_t> positions;        // [tokens]
  std::vector<kernels::MlaToken> mla_tokens;  // [tokens]

  tensor::Matrix<float> hidden;         // [tokens, hidden]
  tensor::Matrix<float> normed;         // [tokens, hidden]
  tensor::Matrix<float> q_a;            // [tokens, q_lora_rank]
  tensor::Matrix<float> q;              // [tokens, heads * (nope + rope)]
  tensor::Matrix<float> kv_a;           // [tokens, latent + rope]
  tensor::Matrix<float> latent;         // [tokens, latent]
  tensor::Matrix<float> q_latent;       // [tokens, heads * latent]
  tensor::Matrix<float> attended;       // [tokens, heads * latent]
  tensor::Matrix<float> values;         // [tokens, heads * v_head_dim]
  tensor::Matrix<float> block_out;      // [tokens, hidden]: what a block adds to the stream
  tensor::Matrix<float> router_logits;  // [tokens, experts]
  tensor::Matrix<float> route_weights;  // [tokens, top_k]
  tensor::Matrix<std::int32_t> routes;  // [tokens, top_k]
  tensor::Matrix<float> expert_out;     // [tokens * top_k, hidden]
  tensor::Matrix<float> logit_input;    // [rows, hidden]
  tensor::Matrix<float> logits;         // [rows, vocab]

  std::vector<std::int32_t> all_rows;      // 0, 1, … tokens - 1
  std::vector<std::int32_t> expert_first;  // [experts + 1]: prefix sums of tokens per expert
  std::vector<std::int32_t> expert_fill;   // [experts]
  std::vector<std::int32_t> input_rows;    // [tokens * top_k], grouped by expert
  std::vector<std::int32_t> output_rows;   // the same order: token * top_k + slot
  std::vector<experts::ExpertDemand> demands;
  std::vector<MlpJob> mlp_jobs;
  std::vector<LinearJob> linear_jobs;
  RouterScratch router;
  kernels::QuantizedRows quantised;
  kernels::MlpWorkspace mlp;
  kernels::AttentionWorkspace attention;
};

DeepseekV3::DeepseekV3(checkpoint::ModelConfig config, ModelWeights weights,
                       kernels::Context context, std::size_t context_tokens)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      context_(context),
      rope_(config_, context_tokens),
      softmax_scale_(static_cast<float>(SoftmaxScale(config_))),
      buffers_(std::make_unique<Buffers>()) {}

DeepseekV3::~DeepseekV3() = default;

kv::CacheShape DeepseekV3::CacheShapeOf(const checkpoint::ModelConfig& config,
                                        kernels::KvDType dtype) {
  return {.layers = config.layers,
          .latent = config.kv_lora_rank,
          .rope = config.qk_rope_dim,
          .dtype = dtype};
}

std::size_t DeepseekV3::WorkspaceBytesOf(const checkpoint::ModelConfig& config,
                                         std::size_t context_tokens, std::size_t step_tokens) {
  const std::size_t widest_mlp = std::max(
      config.dense_width, config.shared_width() + config.router.top_k * config.expert_width);
  const std::size_t per_token =
      config.hidden * (3 + config.router.top_k) + config.q_lora_rank +
      config.heads * (config.qk_nope_dim + config.qk_rope_dim) + 2 * config.kv_lora_rank +
      config.qk_rope_dim + 2 * config.heads * config.kv_lora_rank +
      config.heads * config.v_head_dim + 2 * widest_mlp + config.router.experts;
  const std::size_t rope = context_tokens * config.qk_rope_dim;  // a cosine and a sine a pair
  return (step_tokens * per_token + config.vocab + config.hidden + rope) * sizeof(float);
}

absl::StatusOr<MatrixView<const float>> DeepseekV3::Step(std::span<const StepSequence> sequences,
                                                         kv::PagedCache& cache,
                                                         const std::atomic<bool>* cancel) {
  BeginStep(sequences, cache);
  Embed();
  if (layer_observer_ != nullptr) layer_observer_->OnEmbedded();
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      return Cancelled("the step was stopped");
    }
    const LayerId id{static_cast<std::int32_t>(layer)};
    Attention(id, cache);
    STOKER_RETURN_IF_ERROR(FeedForward(id));
    if (layer_observer_ != nullptr) layer_observer_->OnLayerDone(id);
  }
  return Logits(sequences);
}

void DeepseekV3::BeginStep(std::span<const StepSequence> sequences, const kv::PagedCache& cache) {
  Buffers& b = *buffers_;
  bytes_ = {};
  b.ids.clear();
  b.positions.clear();
  b.mla_tokens.clear();
  for (const StepSequence& sequence : sequences) {
    for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
      const std::size_t position = sequence.first_position + i;
      STOKER_CHECK(Index(sequence.tokens[i]) < config_.vocab);
      STOKER_CHECK(position < rope_.cos().rows);
      b.ids.push_back(sequence.tokens[i]);
      b.positions.push_back(static_cast<std::int32_t>(position));
      b.mla_tokens.push_back({.block_ids = sequence.block_ids, .visible = position + 1});
    }
    bytes_.kv +=
        cache.shape().bytes_per_token() * (sequence.first_position + sequence.tokens.size());
  }
  b.tokens = b.ids.size();
  b.all_rows.resize(b.tokens);
  for (std::size_t i = 0; i < b.tokens; ++i) b.all_rows[i] = static_cast<std::int32_t>(i);
}

void DeepseekV3::Embed() {
  Buffers& b = *buffers_;
  const MatrixView<float> hidden = b.hidden.Resize(b.tokens, config_.hidden);
  const PackedMatrix& embedding = weights_.embedding;
  for (std::size_t token = 0; token < b.tokens; ++token) {
    for (std::size_t col = 0; col < config_.hidden; ++col) {
      hidden.Row(token)[col] = kernels::WeightAt(embedding, Index(b.ids[token]), col);
    }
    // Its 16 rows lie interleaved: every cache line of the panel is read.
    bytes_.weights += embedding.panel_bytes();
  }
}

void DeepseekV3::ProjectQueries(const AttentionWeights& weights) {
  Buffers& b = *buffers_;
  const MatrixView<const float> normed = std::as_const(b.normed).view();
  const std::size_t q_cols = weights.q_b.rows;
  const MatrixView<float> kv_a = b.kv_a.Resize(b.tokens, weights.kv_a.rows);
  const MatrixView<float> q = b.q.Resize(b.tokens, q_cols);
  if (config_.q_lora_rank == 0) {
    const Activations x = Prepare(normed, {&weights.q_b, &weights.kv_a});
    const LinearJob jobs[] = {{x, weights.q_b, q}, {x, weights.kv_a, kv_a}};
    RunJobs(jobs);
    return;
  }
  const MatrixView<float> q_a = b.q_a.Resize(b.tokens, config_.q_lora_rank);
  const Activations x = Prepare(normed, {&weights.q_a, &weights.kv_a});
  const LinearJob jobs[] = {{x, weights.q_a, q_a}, {x, weights.kv_a, kv_a}};
  RunJobs(jobs);
  kernels::RmsNorm(context_, q_a, weights.q_a_norm, kLowRankNormEps, q_a);
  Project(q_a, weights.q_b, q);
}

void DeepseekV3::Attention(LayerId layer, kv::PagedCache& cache) {
  Buffers& b = *buffers_;
  const AttentionWeights& weights = weights_.layers[Index(layer)].attention;
  const std::size_t nope = config_.qk_nope_dim;
  const std::size_t rope = config_.qk_rope_dim;
  const std::size_t latent = config_.kv_lora_rank;
  const std::size_t v = config_.v_head_dim;

  kernels::RmsNorm(context_, b.hidden.view(), weights.input_norm,
                   static_cast<float>(config_.rms_norm_eps),
                   b.normed.Resize(b.tokens, config_.hidden));
  ProjectQueries(weights);

  const MatrixView<float> q = b.q.view();
  const MatrixView<float> kv_a = b.kv_a.view();
  const MatrixView<float> k_rope = kv_a.Columns(latent, rope);
  const MatrixView<float> normed_latent = b.latent.Resize(b.tokens, latent);
  kernels::RmsNorm(context_, kv_a.Columns(0, latent), weights.kv_a_norm, kLowRankNormEps,
                   normed_latent);
  const MatrixView<float> q_rope = q.Columns(nope, q.cols - nope);
  kernels::RopeArgs rotation = {.x = q_rope,
                                .heads = config_.heads,
                                .head_stride = nope + rope,
                                .dim = rope,
                                .positions = b.positions,
                                .cos = rope_.cos(),
                                .sin = rope_.sin()};
  kernels::Rope(context_, rotation);
  rotation.x = k_rope;
  rotation.heads = 1;
  kernels::Rope(context_, rotation);
  const kernels::PagedKv kv = cache.Layer(layer);
  kernels::StoreKv(context_, kv, b.mla_tokens, normed_latent, k_rope);

  const MatrixView<float> q_latent = b.q_latent.Resize(b.tokens, config_.heads * latent);
  const MatrixView<float> attended = b.attended.Resize(b.tokens, config_.heads * latent);
  const MatrixView<float> values = b.values.Resize(b.tokens, config_.heads * v);
  b.linear_jobs.clear();
  for (std::size_t head = 0; head < config_.heads; ++head) {
    b.linear_jobs.push_back({{q.Columns(head * (nope + rope), nope)},
                             weights.key_up[head],
                             q_latent.Columns(head * latent, latent)});
  }
  RunJobs(b.linear_jobs);
  kernels::MlaAttention(context_,
                        {.kv = kv,
                         .heads = config_.heads,
                         .scale = softmax_scale_,
                         .tokens = b.mla_tokens,
                         .q_latent = q_latent,
                         .q_rope = q_rope,
                         .q_rope_head_stride = nope + rope,
                         .out = attended},
                        b.attention);
  b.linear_jobs.clear();
  for (std::size_t head = 0; head < config_.heads; ++head) {
    b.linear_jobs.push_back({{attended.Columns(head * latent, latent)},
                             weights.value_up[head],
                             values.Columns(head * v, v)});
  }
  RunJobs(b.linear_jobs);
  const MatrixView<float> out = b.block_out.Resize(b.tokens, config_.hidden);
  Project(values, weights.o, out);
  kernels::Add(context_, out, b.hidden.view());
}

absl::Status DeepseekV3::FeedForward(LayerId layer) {
  Buffers& b = *buffers_;
  const FeedForwardWeights& weights = weights_.layers[Index(layer)].feed_forward;
  kernels::RmsNorm(context_, b.hidden.view(), weights.norm,
                   static_cast<float>(config_.rms_norm_eps),
                   b.normed.Resize(b.tokens, config_.hidden));
  if (config_.IsMoe(layer)) {
    STOKER_RETURN_IF_ERROR(RoutedExperts(layer));
  } else {
    Mlp(weights.dense);
  }
  kernels::Add(context_, b.block_out.view(), b.hidden.view());
  return absl::OkStatus();
}

// block_out = MLP(normed), every token.
void DeepseekV3::Mlp(const kernels::MlpWeights& weights) {
  Buffers& b = *buffers_;
  const Activations x = Prepare(std::as_const(b.normed).view(), {&weights.gate, &weights.up});
  const MlpJob job = {&weights, b.all_rows, b.all_rows};
  kernels::GroupedMlp(context_, x, {&job, 1}, b.mlp, b.block_out.Resize(b.tokens, config_.hidden));
  bytes_.weights += weights.bytes();
}

// Sorts the step's (token, slot) pairs by expert, stably, into input_rows and output_rows, and
// lists the experts that anyone chose.
void DeepseekV3::GroupByExpert(LayerId layer) {
  Buffers& b = *buffers_;
  const checkpoint::RouterConfig& router = config_.router;
  const FeedForwardWeights& weights = weights_.layers[Index(layer)].feed_forward;
  const MatrixView<const float> logits = std::as_const(b.router_logits).view();
  const MatrixView<std::int32_t> routes = b.routes.Resize(b.tokens, router.top_k);
  const MatrixView<float> route_weights = b.route_weights.Resize(b.tokens, router.top_k);
  b.expert_first.assign(router.experts + 1, 0);
  for (std::size_t token = 0; token < b.tokens; ++token) {
    RouteToken(logits.RowSpan(token), weights.router_bias, router, b.router, routes.RowSpan(token),
               route_weights.RowSpan(token));
    for (const std::int32_t expert : routes.RowSpan(token)) {
      ++b.expert_first[static_cast<std::size_t>(expert) + 1];
    }
  }
  if (observer_ != nullptr) observer_->OnRouting(layer, routes, route_weights);

  b.demands.clear();
  for (std::size_t expert = 0; expert < router.experts; ++expert) {
    const std::int32_t tokens = b.expert_first[expert + 1];
    if (tokens > 0) b.demands.push_back({static_cast<std::int32_t>(expert), tokens});
    b.expert_first[expert + 1] += b.expert_first[expert];
  }
  b.expert_fill.assign(b.expert_first.begin(), b.expert_first.end() - 1);
  b.input_rows.resize(b.tokens * router.top_k);
  b.output_rows.resize(b.tokens * router.top_k);
  for (std::size_t token = 0; token < b.tokens; ++token) {
    for (std::size_t slot = 0; slot < router.top_k; ++slot) {
      const auto expert = static_cast<std::size_t>(routes.Row(token)[slot]);
      const auto place = static_cast<std::size_t>(b.expert_fill[expert]++);
      b.input_rows[place] = static_cast<std::int32_t>(token);
      b.output_rows[place] = static_cast<std::int32_t>(token * router.top_k + slot);
    }
  }
}

// block_out = shared(normed) + sum over the chosen of weight * expert(normed).
absl::Status DeepseekV3::RoutedExperts(LayerId layer) {
  Buffers& b = *buffers_;
  const FeedForwardWeights& weights = weights_.layers[Index(layer)].feed_forward;
  const MatrixView<const float> normed = std::as_const(b.normed).view();
  // Float32 as the reference has it: a rounded activation could change the choice of an expert.
  const LinearJob router = {.x = Prepare(normed, {&weights.router}),
                            .weight = weights.router,
                            .y = b.router_logits.Resize(b.tokens, config_.router.experts),
                            .exact = true};
  RunJobs({&router, 1});
  GroupByExpert(layer);

  // The experts' outputs and the shared block's share one matrix, so that one call does both.
  const std::size_t routed_rows = b.tokens * config_.router.top_k;
  const bool shared = config_.shared_experts > 0;
  const MatrixView<float> out =
      b.expert_out.Resize(routed_rows + (shared ? b.tokens : 0), config_.hidden);
  Activations prepared = {normed, nullptr};
  b.mlp_jobs.clear();
  if (shared) {
    for (std::size_t i = 0; i < b.tokens; ++i) {
      b.output_rows.push_back(static_cast<std::int32_t>(routed_rows + i));
    }
    prepared = Prepare(normed, {&weights.shared.gate, &weights.shared.up});
    b.mlp_jobs.push_back({&weights.shared, b.all_rows,
                          std::span<const std::int32_t>(b.output_rows).subspan(routed_rows)});
    bytes_.weights += weights.shared.bytes();
  }
  experts::ExpertLease lease = weights_.experts->Acquire(layer, b.demands);
  for (;;) {
    STOKER_ASSIGN_OR_RETURN(const std::span<const experts::ReadyExpert> ready, lease.Next());
    if (ready.empty()) break;
    for (const experts::ReadyExpert& expert : ready) {
      const auto index = static_cast<std::size_t>(expert.expert);
      const auto first = static_cast<std::size_t>(b.expert_first[index]);
      const auto count = static_cast<std::size_t>(b.expert_first[index + 1]) - first;
      b.mlp_jobs.push_back({expert.weights,
                            std::span<const std::int32_t>(b.input_rows).subspan(first, count),
                            std::span<const std::int32_t>(b.output_rows).subspan(first, count)});
      if (prepared.quantized == nullptr) {
        prepared = Prepare(normed, {&expert.weights->gate, &expert.weights->up});
      }
      bytes_.weights += expert.weights->bytes();
    }
    kernels::GroupedMlp(context_, prepared, b.mlp_jobs, b.mlp, out);
    b.mlp_jobs.clear();
  }

  const MatrixView<float> sum = b.block_out.Resize(b.tokens, config_.hidden);
  if (shared) {
    std::memcpy(sum.data, out.Row(routed_rows), b.tokens * config_.hidden * sizeof(float));
  } else {
    std::fill_n(sum.data, b.tokens * config_.hidden, 0.0F);
  }
  kernels::CombineExperts(context_, out.Rows(0, routed_rows), b.route_weights.view(), sum);
  return absl::OkStatus();
}

MatrixView<const float> DeepseekV3::Logits(std::span<const StepSequence> sequences) {
  Buffers& b = *buffers_;
  std::size_t rows = 0;
  for (const StepSequence& sequence : sequences) {
    if (sequence.logits == LogitsWanted::kAll) rows += sequence.tokens.size();
    if (sequence.logits == LogitsWanted::kLast && !sequence.tokens.empty()) ++rows;
  }
  const MatrixView<float> input = b.logit_input.Resize(rows, config_.hidden);
  const MatrixView<float> logits = b.logits.Resize(rows, config_.vocab);
  if (rows == 0) return logits;

  std::size_t row = 0;
  std::size_t token = 0;
  const MatrixView<const float> hidden = std::as_const(b.hidden).view();
  for (const StepSequence& sequence : sequences) {
    const std::size_t end = token + sequence.tokens.size();
    if (sequence.logits == LogitsWanted::kNone) token = end;
    if (sequence.logits == LogitsWanted::kLast) token = std::max(token, end - 1);
    for (; token < end; ++token) {
      std::ranges::copy(hidden.RowSpan(token), input.Row(row++));
    }
  }
  kernels::RmsNorm(context_, input, weights_.final_norm, static_cast<float>(config_.rms_norm_eps),
                   input);
  Project(input, weights_.head, logits);
  return logits;
}

Activations DeepseekV3::Prepare(MatrixView<const float> x,
                                std::initializer_list<const PackedMatrix*> weights) {
  const bool int4 = std::ranges::any_of(weights, [](const PackedMatrix* weight) {
    return weight->format == WeightFormat::kInt4Group32;
  });
  if (!int4 || !kernels::QuantizesActivations(*context_.ops)) return {x, nullptr};
  buffers_->quantised.Assign(context_, x);
  return {x, &buffers_->quantised};
}

void DeepseekV3::Project(MatrixView<const float> x, const PackedMatrix& weight,
                         MatrixView<float> y) {
  const LinearJob job = {Prepare(x, {&weight}), weight, y};
  RunJobs({&job, 1});
}

void DeepseekV3::RunJobs(std::span<const LinearJob> jobs) {
  kernels::Linear(context_, jobs);
  for (const LinearJob& job : jobs) bytes_.weights += job.weight.bytes();
}

}  // namespace stoker::model
