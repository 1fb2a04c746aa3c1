#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/context.h"
#include "tensor/view.h"

namespace stoker::kernels {

/// Element type of cached latents and rope keys.
enum class KvDType : std::uint8_t { kF32, kBf16 };

constexpr std::size_t SizeOf(KvDType dtype) {
  return dtype == KvDType::kF32 ? 4 : 2;
}

/// Tokens in one block of the paged cache.
inline constexpr std::size_t kKvBlockTokens = 64;

/// One layer of the paged MLA cache as kernels see it. A block holds kKvBlockTokens entries of
/// latent + rope elements; entry t of a sequence is entry t % 64 of block
/// block_ids[t / 64]. Does not own its memory.
struct PagedKv {
  std::byte* base = nullptr;  ///< block 0 of this layer
  std::size_t block_stride_bytes = 0;
  std::size_t latent = 0;  ///< 512: compressed keys and values
  std::size_t rope = 0;    ///< 64: the roped key shared by all heads
  KvDType dtype = KvDType::kBf16;

  [[nodiscard]] std::byte* Entry(std::int32_t block, std::size_t slot) const {
    return base + static_cast<std::size_t>(block) * block_stride_bytes +
           slot * (latent + rope) * SizeOf(dtype);
  }
};

/// One query token: the blocks of its sequence and how many entries it may see (itself included).
struct MlaToken {
  std::span<const std::int32_t> block_ids;
  std::size_t visible = 0;
};

/// Writes token i's normed latent [latent] and roped key [rope] into entry visible - 1 of its
/// sequence, rounding to the cache's type.
void StoreKv(const Context& context, const PagedKv& kv, std::span<const MlaToken> tokens,
             tensor::MatrixView<const float> latents, tensor::MatrixView<const float> rope_keys);

/// Buffers of MlaAttention, kept between steps.
class AttentionWorkspace {
 public:
  struct Buffers;

  AttentionWorkspace();
  ~AttentionWorkspace();
  [[nodiscard]] Buffers& buffers() { return *buffers_; }

 private:
  std::unique_ptr<Buffers> buffers_;
};

/// Multi-head latent attention in absorbed form (DeepSeek-V2, arXiv 2405.04434, section 2.1.2):
/// for token i and head h, over the token's visible entries t with latent c_t and roped key k_t,
///   s_t = scale * (q_latent[i, h] . c_t + q_rope[i, h] . k_t),  o = sum_t softmax(s)_t c_t.
/// q_latent and out [tokens, heads * latent]; head h's q_rope starts at column h *
/// q_rope_head_stride.
///
/// Entries are summed in fixed segments of positions, partial results merged in ascending order:
/// the result is bit-identical for any number of threads, any company, any chunking of the prompt.
struct MlaArgs {
  PagedKv kv;
  std::size_t heads = 0;
  float scale = 1.0F;
  std::span<const MlaToken> tokens;
  tensor::MatrixView<const float> q_latent;
  tensor::MatrixView<const float> q_rope;
  std::size_t q_rope_head_stride = 0;
  tensor::MatrixView<float> out;
};
void MlaAttention(const Context& context, const MlaArgs& args, AttentionWorkspace& workspace);

}  // namespace stoker::kernels
