#include "checkpoint/synthetic_fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tensor/float_types.h"

namespace stoker::checkpoint {
namespace {

constexpr std::size_t kBlockBytes = 8;
using Block = std::array<std::byte, kBlockBytes>;
static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), entered at any place of its sequence.
constexpr std::uint64_t RandomAt(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Standard deviation of an INT4 value: uniform on -7…7, 0 twice.
const float kInt4Rms = std::sqrt(17.5F);

// The same for a stored E4M3 code, uniform on all but NaN (0x7f becomes 0x7e).
float Fp8Rms() {
  double sum = 0;
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned finite = (code & 0x7fU) == 0x7fU ? code ^ 1U : code;
    const double value = tensor::ToFloat(tensor::F8E4M3{static_cast<std::uint8_t>(finite)});
    sum += value * value;
  }
  return static_cast<float>(std::sqrt(sum / 256));
}

// Uniform on [-1, 1) from 16 random bits.
float Symmetric(std::uint64_t random, unsigned lane) {
  return static_cast<float>(static_cast<std::int16_t>(random >> (16 * lane))) * 0x1p-15F;
}

// Bytes of one block of the tensor, by its kind. Templated so that each kind's loop is tight.
template <typename MakeBlock>
void FillBlocks(std::uint64_t offset, std::span<std::byte> out, const MakeBlock& make_block) {
  std::uint64_t index = offset / kBlockBytes;
  std::size_t at = 0;
  for (; at + kBlockBytes <= out.size(); at += kBlockBytes) {
    const Block block = make_block(index++);
    std::memcpy(out.data() + at, block.data(), kBlockBytes);
  }
  if (at < out.size()) {
    const Block block = make_block(index);
    std::memcpy(out.data() + at, block.data(), out.size() - at);
  }
}

template <typename ToValue>
auto Bf16Blocks(std::uint64_t key, const ToValue& to_value) {
  return [key, to_value](std::uint64_t index) {
    const std::uint64_t random = RandomAt(key, index);
    std::array<tensor::Bf16, 4> values{};
    for (unsigned lane = 0; lane < 4; ++lane) {
      values[lane] = tensor::ToBf16(to_value(Symmetric(random, lane)));
    }
    return std::bit_cast<Block>(values);
  };
}

template <typename ToValue>
auto F32Blocks(std::uint64_t key, const ToValue& to_value) {
  return [key, to_value](std::uint64_t index) {
    const std::uint64_t random = RandomAt(key, index);
    return std::bit_cast<Block>(
        std::array<float, 2>{to_value(Symmetric(random, 0)), to_value(Symmetric(random, 1))});
  };
}

// Seven bits all set are NaN, whatever the sign: clear the lowest of those bytes.
std::uint64_t WithoutNan(std::uint64_t codes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  const std::uint64_t is_nan = (((codes & (0x7f * kOnes)) + kOnes) >> 7) & kOnes;
  return codes & ~is_nan;
}

// Turns code 0, the value -8, into code 8, the value 0. Uniform codes have mean -0.5, and that
// common part of every weight grows from layer to layer until all tokens route alike.
std::uint64_t MeanZero(std::uint64_t codes) {
  constexpr std::uint64_t kOnes = 0x1111111111111111U;
  const std::uint64_t is_zero = ~(codes | codes >> 1 | codes >> 2 | codes >> 3) & kOnes;
  return codes | is_zero << 3;
}

}  // namespace

std::uint64_t FillKey(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return RandomAt(hash, seed);
}

void FillBytes(const FillSpec& spec, std::uint64_t offset, std::span<std::byte> out) {
  STOKER_CHECK(offset % kBlockBytes == 0);
  const auto deviation = static_cast<float>(spec.deviation);
  const float half_width = deviation * std::sqrt(3.0F);  // of a uniform distribution
  const std::uint64_t key = spec.key;
  const auto uniform = [half_width](float u) { return u * half_width; };
  const auto near = [](float scale) {
    return [scale](float u) { return scale * (1.0F + 0.25F * u); };
  };
  switch (spec.fill) {
    case Fill::kUniformBf16:
      return FillBlocks(offset, out, Bf16Blocks(key, uniform));
    case Fill::kUniformF32:
      return FillBlocks(offset, out, F32Blocks(key, uniform));
    case Fill::kOneBf16: {
      const tensor::Bf16 one = tensor::ToBf16(1.0F);
      const auto ones = std::bit_cast<Block>(std::array<tensor::Bf16, 4>{one, one, one, one});
      return FillBlocks(offset, out, [ones](std::uint64_t) { return ones; });
    }
    case Fill::kInt4Codes:
      return FillBlocks(offset, out, [key](std::uint64_t index) {
        return std::bit_cast<Block>(MeanZero(RandomAt(key, index)));
      });
    case Fill::kInt4Scale:
      return FillBlocks(offset, out, Bf16Blocks(key, near(deviation / kInt4Rms)));
    case Fill::kFp8Codes:
      return FillBlocks(offset, out, [key](std::uint64_t index) {
        return std::bit_cast<Block>(WithoutNan(RandomAt(key, index)));
      });
    case Fill::kFp8Scale:
      return FillBlocks(offset, out, F32Blocks(key, near(deviation / Fp8Rms())));
    case Fill::kMatrixShape: {
      const auto shape = std::bit_cast<Block>(std::array<std::int32_t, 2>{spec.rows, spec.cols});
      return FillBlocks(offset, out, [shape](std::uint64_t) { return shape; });
    }
  }
}

}  // namespace stoker::checkpoint
