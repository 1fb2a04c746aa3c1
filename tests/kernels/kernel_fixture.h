#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/context.h"
#include "kernels/linear.h"
#include "kernels/op_table.h"
#include "kernels/packed_matrix.h"
#include "sys/thread_pool.h"
#include "tensor/linear_weight.h"
#include "tensor/matrix.h"

namespace stoker::kernels {

inline constexpr tensor::WeightFormat kAllFormats[] = {
    tensor::WeightFormat::kF32, tensor::WeightFormat::kF16, tensor::WeightFormat::kBf16,
    tensor::WeightFormat::kFp8Block128, tensor::WeightFormat::kInt4Group32};

/// A weight with random finite contents, as a checkpoint would hold it.
class RandomWeight {
 public:
  RandomWeight(tensor::WeightFormat format, std::size_t rows, std::size_t cols, std::uint32_t seed);

  [[nodiscard]] tensor::LinearWeight view() const;
  std::vector<std::byte>& weight() { return weight_; }
  std::vector<std::byte>& scale() { return scale_; }

 private:
  tensor::WeightFormat format_;
  std::size_t rows_;
  std::size_t cols_;
  std::vector<std::byte> weight_;
  std::vector<std::byte> scale_;
};

/// A packed matrix that owns aligned memory.
class OwnedPacked {
 public:
  OwnedPacked(tensor::WeightFormat format, std::size_t rows, std::size_t cols);
  explicit OwnedPacked(const tensor::LinearWeight& source);

  [[nodiscard]] const PackedMatrix& matrix() const { return matrix_; }

 private:
  std::vector<std::byte> storage_;
  PackedMatrix matrix_;
};

/// Random rows with a stride larger than their length and odd alignment.
class RandomRows {
 public:
  RandomRows(std::size_t rows, std::size_t cols, std::uint32_t seed, float scale = 1.0F);

  [[nodiscard]] tensor::MatrixView<float> view() {
    return {storage_.data() + 1, rows_, cols_, cols_ + kPadding};
  }
  [[nodiscard]] tensor::MatrixView<const float> view() const {
    return {storage_.data() + 1, rows_, cols_, cols_ + kPadding};
  }

 private:
  static constexpr std::size_t kPadding = 3;
  std::size_t rows_;
  std::size_t cols_;
  std::vector<float> storage_;
};

/// `threads` workers on a made-up machine.
std::unique_ptr<sys::ThreadPool> MakePool(int threads);

/// The rows as a product of this table with weights of `format` sees them.
std::vector<float> Seen(const OpTable& ops, tensor::WeightFormat format,
                        tensor::MatrixView<const float> x);

/// EXPECTs equal bits.
void ExpectSameBits(tensor::MatrixView<const float> a, tensor::MatrixView<const float> b);

/// A test that runs for every instruction set that this processor has.
class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  EveryIsa() : pool_(MakePool(2)) {}

  [[nodiscard]] Context context() const {
    return {.ops = &OpsFor(GetParam()), .pool = pool_.get()};
  }

 private:
  std::unique_ptr<sys::ThreadPool> pool_;
};

inline std::string IsaName(const testing::TestParamInfo<Isa>& param) {
  return std::string(Name(param.param));
}

}  // namespace stoker::kernels
