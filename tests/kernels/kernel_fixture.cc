#include "tests/kernels/kernel_fixture.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "sys/topology.h"
#include "tensor/float_types.h"

namespace stoker::kernels {
namespace {

using tensor::WeightFormat;

std::size_t WeightBytes(WeightFormat format, std::size_t rows, std::size_t cols) {
  switch (format) {
    case WeightFormat::kF32:
      return rows * cols * 4;
    case WeightFormat::kF16:
    case WeightFormat::kBf16:
      return rows * cols * 2;
    case WeightFormat::kFp8Block128:
      return rows * cols;
    case WeightFormat::kInt4Group32:
      return rows * cols / 2;
  }
  return 0;
}

template <typename T>
void Put(std::vector<std::byte>& bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// Random bit patterns with an exponent near 1, denormals and zeros now and then.
std::uint16_t RandomF16(std::mt19937& random) {
  const auto bits = static_cast<std::uint16_t>(random());
  if (random() % 16 == 0) return bits & 0x83ffU;
  return static_cast<std::uint16_t>((bits & 0x83ffU) | ((10U + random() % 6U) << 10));
}

}  // namespace

RandomWeight::RandomWeight(WeightFormat format, std::size_t rows, std::size_t cols,
                           std::uint32_t seed)
    : format_(format), rows_(rows), cols_(cols), weight_(WeightBytes(format, rows, cols)) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.5F);
  std::uniform_real_distribution<float> positive(0.01F, 0.1F);
  switch (format) {
    case WeightFormat::kF32:
      for (std::size_t i = 0; i < rows * cols; ++i) Put(weight_, i, normal(random));
      break;
    case WeightFormat::kF16:
      for (std::size_t i = 0; i < rows * cols; ++i) Put(weight_, i, RandomF16(random));
      break;
    case WeightFormat::kBf16:
      for (std::size_t i = 0; i < rows * cols; ++i) {
        Put(weight_, i, tensor::ToBf16(random() % 32 == 0 ? 0.0F : normal(random)));
      }
      break;
    case WeightFormat::kFp8Block128: {
      for (std::byte& byte : weight_) {
        const auto code = static_cast<std::uint8_t>(random());
        byte = std::byte{(code & 0x7fU) == 0x7fU ? std::uint8_t{0x7e} : code};
      }
      const std::size_t scales = ((rows + 127) / 128) * ((cols + 127) / 128);
      scale_.resize(scales * 4);
      for (std::size_t i = 0; i < scales; ++i) Put(scale_, i, positive(random));
      break;
    }
    case WeightFormat::kInt4Group32: {
      for (std::byte& byte : weight_) byte = static_cast<std::byte>(random() & 0xffU);
      scale_.resize(rows * cols / 32 * 2);
      for (std::size_t i = 0; i < rows * cols / 32; ++i) {
        Put(scale_, i, tensor::ToBf16(positive(random)));
      }
      break;
    }
  }
}

tensor::LinearWeight RandomWeight::view() const {
  return {.format = format_, .rows = rows_, .cols = cols_, .weight = weight_, .scale = scale_};
}

OwnedPacked::OwnedPacked(WeightFormat format, std::size_t rows, std::size_t cols)
    : storage_(PackedBytes(format, rows, cols) + 64, std::byte{0xa5}),
      matrix_{.format = format, .rows = rows, .cols = cols, .data = storage_.data()} {
  void* start = storage_.data();
  std::size_t space = storage_.size();
  matrix_.data = static_cast<std::byte*>(std::align(64, space - 64, start, space));
}

OwnedPacked::OwnedPacked(const tensor::LinearWeight& source)
    : OwnedPacked(source.format, source.rows, source.cols) {
  STOKER_CHECK(PackPanels(source, matrix_, 0, matrix_.panels()).ok());
}

RandomRows::RandomRows(std::size_t rows, std::size_t cols, std::uint32_t seed, float scale)
    : rows_(rows), cols_(cols), storage_(rows * (cols + kPadding) + 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  for (float& value : storage_) value = normal(random);
}

std::unique_ptr<sys::ThreadPool> MakePool(int threads) {
  auto topology = sys::SyntheticTopology("node:1 core:4 pu:1");
  STOKER_CHECK(topology.ok());
  return std::make_unique<sys::ThreadPool>(
      *topology, sys::ThreadPool::Options{.threads = threads, .pin = false});
}

std::vector<float> Seen(const OpTable& ops, WeightFormat format,
                        tensor::MatrixView<const float> x) {
  const bool eight_bits = format == WeightFormat::kInt4Group32 && ops.quantizes_activations;
  const bool bf16 = format == WeightFormat::kBf16 && ops.rounds_bf16_activations;
  std::vector<float> seen(x.rows * x.cols);
  std::vector<QuantizedGroup> groups(x.cols / 32);
  for (std::size_t row = 0; row < x.rows; ++row) {
    if (eight_bits) RefOps().quantize(x.Row(row), groups.size(), groups.data());
    for (std::size_t col = 0; col < x.cols; ++col) {
      float value = x.Row(row)[col];
      if (eight_bits) {
        value = static_cast<float>(groups[col / 32].values[col % 32]) * groups[col / 32].scale;
      }
      if (bf16) value = tensor::ToFloat(tensor::ToBf16(value));
      seen[row * x.cols + col] = value;
    }
  }
  return seen;
}

void ExpectSameBits(tensor::MatrixView<const float> a, tensor::MatrixView<const float> b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t col = 0; col < a.cols; ++col) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(a.Row(row)[col]),
                std::bit_cast<std::uint32_t>(b.Row(row)[col]))
          << "row " << row << ", column " << col << ": " << a.Row(row)[col] << " and "
          << b.Row(row)[col];
    }
  }
}

}  // namespace stoker::kernels
