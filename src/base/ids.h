#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace stoker {

/// A vocabulary entry. Negative values never occur in valid data.
enum class TokenId : std::int32_t {};

/// The token's row in an embedding table or its column in a row of logits.
constexpr std::size_t Index(TokenId token) {
  return static_cast<std::size_t>(token);
}

/// A transformer layer, counted from 0 at the embedding; dense layers count too.
enum class LayerId : std::int32_t {};

/// The layer's place in a vector of layers.
constexpr std::size_t Index(LayerId layer) {
  return static_cast<std::size_t>(layer);
}

/// One routed expert of one layer.
struct ExpertId {
  LayerId layer;
  std::int32_t expert;  ///< index within the layer, [0, routed experts)

  friend constexpr auto operator<=>(const ExpertId&, const ExpertId&) = default;
};

}  // namespace stoker
