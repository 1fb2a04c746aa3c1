#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "tensor/view.h"

namespace stoker::model {

/// Which logits a step is asked for.
enum class LogitsWanted : std::uint8_t { kNone, kLast, kAll };

/// One sequence's part in a step: some consecutive tokens, all of whose predecessors are in the
/// cache already.
struct StepSequence {
  std::span<const TokenId> tokens;
  std::size_t first_position = 0;
  /// Blocks of the sequence, with room for first_position + tokens.size() entries.
  std::span<const std::int32_t> block_ids;
  LogitsWanted logits = LogitsWanted::kLast;
};

/// Sees the routing as the step makes it. Called on the stepping thread.
class RoutingObserver {
 public:
  virtual ~RoutingObserver() = default;
  /// ids, weights: [tokens of the step, top_k], best expert first.
  virtual void OnRouting(LayerId layer, tensor::MatrixView<const std::int32_t> ids,
                         tensor::MatrixView<const float> weights) = 0;
};

/// Sees a step pass from layer to layer, for whoever measures them. Called on the stepping thread.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  /// The embedding is looked up: the first layer begins.
  virtual void OnEmbedded() = 0;
  /// `layer` has run for all tokens of the step.
  virtual void OnLayerDone(LayerId layer) = 0;
};

/// What a step read from memory: the floor of its time on a machine bound by bandwidth.
struct StepBytes {
  std::uint64_t weights = 0;  ///< each matrix used counts once a step
  std::uint64_t kv = 0;
  [[nodiscard]] std::uint64_t total() const { return weights + kv; }
};

}  // namespace stoker::model
