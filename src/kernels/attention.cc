#include "kernels/attention.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/op_table.h"
#include "kernels/tasks.h"

namespace stoker::kernels {
namespace {

/// Queries worked on together: some heads of consecutive tokens of one sequence.
struct Group {
  std::size_t first_token = 0;
  std::size_t tokens = 0;
  std::size_t first_head = 0;
  std::size_t heads = 0;
  std::size_t visible = 0;  ///< most entries that any of its tokens sees

  [[nodiscard]] std::size_t queries() const { return tokens * heads; }
  [[nodiscard]] std::size_t segments() const { return DivCeil(visible, kSegmentPositions); }
};

/// Buffers of one task: scores, and one segment's result.
struct Scratch {
  float* scores = nullptr;  // [kMaxQueries, kSegmentPositions]
  float* out = nullptr;     // [kMaxQueries, latent]
  float* max = nullptr;     // [kMaxQueries]
  float* sum = nullptr;     // [kMaxQueries]
};

constexpr std::size_t ScratchFloats(std::size_t latent) {
  return kMaxQueries * (kSegmentPositions + latent + 2);
}

Scratch ScratchAt(float* base, std::size_t latent) {
  Scratch scratch{.scores = base};
  scratch.out = scratch.scores + kMaxQueries * kSegmentPositions;
  scratch.max = scratch.out + kMaxQueries * latent;
  scratch.sum = scratch.max + kMaxQueries;
  return scratch;
}

}  // namespace

struct AttentionWorkspace::Buffers {
  std::vector<Group> groups;
  std::vector<float> scratch;
  std::vector<float> running;  // [groups, 2, kMaxQueries]: each query's maximum and sum so far
};

AttentionWorkspace::AttentionWorkspace() : buffers_(std::make_unique<Buffers>()) {}
AttentionWorkspace::~AttentionWorkspace() = default;

namespace {

/// Tokens of one sequence share their block table.
bool SameSequence(const MlaToken& a, const MlaToken& b) {
  return a.block_ids.data() == b.block_ids.data();
}

/// Cuts the queries into groups of at most `max_heads` heads.
void FormGroups(const MlaArgs& args, std::size_t max_heads, std::vector<Group>& groups) {
  groups.clear();
  const std::size_t max_tokens = std::max<std::size_t>(1, kMaxQueries / max_heads);
  for (std::size_t token = 0; token < args.tokens.size();) {
    std::size_t end = token + 1;
    std::size_t visible = args.tokens[token].visible;
    while (end < args.tokens.size() && end - token < max_tokens &&
           SameSequence(args.tokens[token], args.tokens[end])) {
      visible = std::max(visible, args.tokens[end].visible);
      ++end;
    }
    for (std::size_t head = 0; head < args.heads; head += max_heads) {
      groups.push_back({token, end - token, head, std::min(max_heads, args.heads - head), visible});
    }
    token = end;
  }
}

/// Heads of a group. All of them, so that each cache entry is read and expanded once, unless that
/// leaves workers idle.
std::size_t HeadsPerGroup(const MlaArgs& args, std::size_t workers) {
  constexpr std::size_t kFewestHeads = 4;
  std::size_t segments = 0;
  for (const MlaToken& token : args.tokens) {
    segments += DivCeil(token.visible, kSegmentPositions);
  }
  std::size_t heads = std::min(args.heads, kMaxQueries);
  while (segments * DivCeil(args.heads, heads) < workers && heads >= 2 * kFewestHeads) {
    heads = DivCeil(heads, 2);
  }
  return heads;
}

/// One segment's result for a group, into `scratch`.
void RunSegment(const Context& context, const MlaArgs& args, const Group& group,
                std::size_t segment, const Scratch& scratch) {
  std::array<const float*, kMaxQueries> q_latent;
  std::array<const float*, kMaxQueries> q_rope;
  std::array<std::size_t, kMaxQueries> visible;
  std::size_t query = 0;
  for (std::size_t token = group.first_token; token < group.first_token + group.tokens; ++token) {
    for (std::size_t head = group.first_head; head < group.first_head + group.heads; ++head) {
      q_latent[query] = args.q_latent.Row(token) + head * args.kv.latent;
      q_rope[query] = args.q_rope.Row(token) + head * args.q_rope_head_stride;
      visible[query] = args.tokens[token].visible;
      ++query;
    }
  }
  const std::size_t first = segment * kSegmentPositions;
  // The tokens of a sequence may come with spans of different length of one block table.
  std::span<const std::int32_t> block_ids;
  for (std::size_t token = group.first_token; token < group.first_token + group.tokens; ++token) {
    if (args.tokens[token].block_ids.size() > block_ids.size()) {
      block_ids = args.tokens[token].block_ids;
    }
  }
  context.ops->mla_segment({.kv = &args.kv,
                            .block_ids = block_ids,
                            .first = first,
                            .count = std::min(kSegmentPositions, group.visible - first),
                            .scale = args.scale,
                            .queries = query,
                            .q_latent = q_latent.data(),
                            .q_rope = q_rope.data(),
                            .visible = visible.data(),
                            .scores = scratch.scores,
                            .out = scratch.out,
                            .max = scratch.max,
                            .sum = scratch.sum});
}

/// A group's running softmax, kept between segments; the weighted values are in args.out itself.
struct Running {
  float* max = nullptr;  // [queries]
  float* sum = nullptr;  // [queries]

  static Running At(AttentionWorkspace::Buffers& buffers, std::size_t group) {
    float* base = buffers.running.data() + group * 2 * kMaxQueries;
    return {base, base + kMaxQueries};
  }
};

float* OutOf(const MlaArgs& args, const Group& group, std::size_t query) {
  return args.out.Row(group.first_token + query / group.heads) +
         (group.first_head + query % group.heads) * args.kv.latent;
}

void Merge(const Context& context, const MlaArgs& args, const Group& group, const Scratch& part,
           const Running& running) {
  for (std::size_t query = 0; query < group.queries(); ++query) {
    SoftmaxState state{OutOf(args, group, query), running.max[query], running.sum[query]};
    context.ops->mla_merge(part.out + query * args.kv.latent, part.max[query], part.sum[query],
                           args.kv.latent, state);
    running.max[query] = state.max;
    running.sum[query] = state.sum;
  }
}

void Finish(const Context& context, const MlaArgs& args, const Group& group,
            const Running& running) {
  for (std::size_t query = 0; query < group.queries(); ++query) {
    float* out = OutOf(args, group, query);
    context.ops->mla_finish({out, running.max[query], running.sum[query]}, args.kv.latent, out);
  }
}

/// Enough groups for every worker: each takes whole groups, one segment after another.
void RunByGroups(const Context& context, const MlaArgs& args,
                 AttentionWorkspace::Buffers& buffers) {
  const std::size_t scratch_floats = ScratchFloats(args.kv.latent);
  const std::size_t workers = static_cast<std::size_t>(context.pool->size());
  buffers.scratch.resize(std::max(buffers.scratch.size(), workers * scratch_floats));
  ForEachTask(context, buffers.groups.size(), [&](std::size_t task, int worker) {
    // Later tokens see more: take them first, so that the last tasks are the short ones.
    const std::size_t index = buffers.groups.size() - 1 - task;
    const Group& group = buffers.groups[index];
    const Scratch scratch = ScratchAt(
        buffers.scratch.data() + static_cast<std::size_t>(worker) * scratch_floats, args.kv.latent);
    const Running running = Running::At(buffers, index);
    for (std::size_t segment = 0; segment < group.segments(); ++segment) {
      RunSegment(context, args, group, segment, scratch);
      Merge(context, args, group, scratch, running);
    }
    Finish(context, args, group, running);
  });
}

/// Few groups: their segments are shared out as well, a wave at a time so that the partial
/// results stay within bounds however long the context.
void RunBySegments(const Context& context, const MlaArgs& args,
                   AttentionWorkspace::Buffers& buffers) {
  const std::size_t scratch_floats = ScratchFloats(args.kv.latent);
  const std::size_t groups = buffers.groups.size();
  const std::size_t workers = static_cast<std::size_t>(context.pool->size());
  std::size_t most_segments = 0;
  for (const Group& group : buffers.groups) {
    most_segments = std::max(most_segments, group.segments());
  }
  const std::size_t wave = std::min(most_segments, DivCeil(2 * workers, groups));
  buffers.scratch.resize(std::max(buffers.scratch.size(), groups * wave * scratch_floats));
  const auto scratch_of = [&](std::size_t task) {
    return ScratchAt(buffers.scratch.data() + task * scratch_floats, args.kv.latent);
  };
  for (std::size_t first = 0; first < most_segments; first += wave) {
    ForEachTask(context, groups * wave, [&](std::size_t task, int /*worker*/) {
      const Group& group = buffers.groups[task / wave];
      const std::size_t segment = first + task % wave;
      if (segment < group.segments()) {
        RunSegment(context, args, group, segment, scratch_of(task));
      }
    });
    for (std::size_t task = 0; task < groups * wave; ++task) {
      const Group& group = buffers.groups[task / wave];
      if (first + task % wave < group.segments()) {
        Merge(context, args, group, scratch_of(task), Running::At(buffers, task / wave));
      }
    }
  }
  for (std::size_t index = 0; index < groups; ++index) {
    Finish(context, args, buffers.groups[index], Running::At(buffers, index));
  }
}

}  // namespace

void StoreKv(const Context& context, const PagedKv& kv, std::span<const MlaToken> tokens,
             tensor::MatrixView<const float> latents, tensor::MatrixView<const float> rope_keys) {
  STOKER_CHECK(latents.rows == tokens.size() && rope_keys.rows == tokens.size());
  STOKER_CHECK(latents.cols == kv.latent && rope_keys.cols == kv.rope);
  ForEachRow(context, tokens.size(), kv.latent + kv.rope, [&](std::size_t token) {
    STOKER_DCHECK(tokens[token].visible > 0);
    const std::size_t position = tokens[token].visible - 1;
    std::byte* entry =
        kv.Entry(tokens[token].block_ids[position / kKvBlockTokens], position % kKvBlockTokens);
    context.ops->store_kv(latents.Row(token), kv.latent, kv.dtype, entry);
    context.ops->store_kv(rope_keys.Row(token), kv.rope, kv.dtype,
                          entry + kv.latent * SizeOf(kv.dtype));
  });
}

void MlaAttention(const Context& context, const MlaArgs& args, AttentionWorkspace& workspace) {
  STOKER_CHECK(args.q_latent.rows == args.tokens.size() && args.out.rows == args.tokens.size() &&
               args.q_rope.rows == args.tokens.size());
  STOKER_CHECK(args.q_latent.cols == args.heads * args.kv.latent &&
               args.out.cols == args.q_latent.cols);
  for (const MlaToken& token : args.tokens) {
    STOKER_CHECK(token.block_ids.size() * kKvBlockTokens >= token.visible);
  }
  AttentionWorkspace::Buffers& buffers = workspace.buffers();
  const std::size_t workers = static_cast<std::size_t>(context.pool->size());
  FormGroups(args, HeadsPerGroup(args, workers), buffers.groups);
  if (buffers.groups.empty()) return;
  buffers.running.assign(buffers.groups.size() * 2 * kMaxQueries, 0.0F);
  if (buffers.groups.size() >= 4 * workers) {
    RunByGroups(context, args, buffers);
  } else {
    RunBySegments(context, args, buffers);
  }
}

}  // namespace stoker::kernels
