#include "kernels/packed_matrix.h"

#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/status.h"
#include "gmock/gmock.h"
#include "tensor/dequantise.h"
#include "tensor/float_types.h"
#include "tests/kernels/kernel_fixture.h"

namespace stoker::kernels {
namespace {

using tensor::WeightFormat;
using testing::HasSubstr;

TEST(PackedMatrix, HoldsTheCheckpointsValues) {
  for (const WeightFormat format : kAllFormats) {
    for (const std::size_t rows : {1U, 15U, 16U, 33U, 130U}) {
      for (const std::size_t cols : {1U, 31U, 32U, 96U, 129U, 160U, 416U}) {
        if (format == WeightFormat::kInt4Group32 && cols % 32 != 0) continue;
        const RandomWeight weight(format, rows, cols, 7);
        const OwnedPacked packed(weight.view());
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t col = 0; col < cols; ++col) {
            ASSERT_EQ(WeightAt(packed.matrix(), row, col), tensor::ValueAt(weight.view(), row, col))
                << Name(format) << " [" << rows << ", " << cols << "] at " << row << ", " << col;
          }
        }
      }
    }
  }
}

TEST(PackedMatrix, TakesTheBytesThatItSays) {
  EXPECT_EQ(PackedBytes(WeightFormat::kF32, 16, 10), 640U);
  EXPECT_EQ(PackedBytes(WeightFormat::kBf16, 17, 3), 2 * 128U);
  EXPECT_EQ(PackedBytes(WeightFormat::kFp8Block128, 16, 128), 2048U + 64U);
  // 4.5 bits a weight.
  EXPECT_EQ(PackedBytes(WeightFormat::kInt4Group32, 1408, 2048), 1408U * 2048U * 9U / 16U);
}

TEST(PackedMatrix, PanelsMayBePackedInAnyOrder) {
  for (const WeightFormat format : kAllFormats) {
    const RandomWeight weight(format, 70, 64, 3);
    const OwnedPacked whole(weight.view());
    const OwnedPacked parts(format, 70, 64);
    for (const std::size_t panel : {4U, 0U, 2U, 3U, 1U}) {
      ASSERT_TRUE(PackPanels(weight.view(), parts.matrix(), panel, 1).ok());
    }
    EXPECT_EQ(std::memcmp(whole.matrix().data, parts.matrix().data, whole.matrix().bytes()), 0);
  }
}

// Rows that start anywhere, as in a checkpoint, packed by one table.
class OddRows {
 public:
  explicit OddRows(std::size_t row_bytes) : bytes_(kPanelRows * row_bytes + 1) {
    std::mt19937 random(11);
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random());
    for (std::size_t row = 0; row < kPanelRows; ++row) {
      rows_[row] = bytes_.data() + 1 + row * row_bytes;
    }
  }
  [[nodiscard]] const std::byte* const* rows() const { return rows_.data(); }

 private:
  std::vector<std::byte> bytes_;
  std::array<const std::byte*, kPanelRows> rows_{};
};

TEST(PackedMatrix, EveryTablePacksAlikeFromAnyAddress) {
  constexpr std::size_t kWords = 37;
  constexpr std::size_t kGroups = 5;
  const OddRows words(kWords * 4);
  const OddRows groups(kGroups * 16);
  const auto packed = [&](const OpTable& ops) {
    const OwnedPacked target(WeightFormat::kF32, kPanelRows, kWords + kGroups * 4);
    std::byte* data = target.matrix().data;
    ops.pack_words(words.rows(), kWords, data);
    ops.pack_int4(groups.rows(), kGroups, data + kWords * 64);
    return std::vector<std::byte>(data, data + kWords * 64 + kGroups * 256);
  };
  const std::vector<std::byte> expected = packed(PortableOps());
  for (const Isa isa : SupportedIsas()) {
    if (isa == Isa::kRef) continue;
    EXPECT_EQ(packed(OpsFor(isa)), expected) << Name(isa);
  }
}

TEST(PackedMatrix, PaddedRowsAreZero) {
  for (const WeightFormat format : kAllFormats) {
    const RandomWeight weight(format, 19, 64, 3);
    const OwnedPacked packed(weight.view());
    for (std::size_t row = 19; row < 32; ++row) {
      for (std::size_t col = 0; col < 64; ++col) {
        ASSERT_EQ(WeightAt(packed.matrix(), row, col), 0.0F) << Name(format);
      }
    }
  }
}

TEST(PackedMatrix, BadInt4ScaleIsRefusedWithItsPlace) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    RandomWeight weight(WeightFormat::kInt4Group32, 40, 96, 1);
    const tensor::Bf16 value = tensor::ToBf16(bad);
    std::memcpy(weight.scale().data() + (37 * 3 + 2) * 2, &value, 2);
    const OwnedPacked packed(WeightFormat::kInt4Group32, 40, 96);
    const absl::Status status = PackPanels(weight.view(), packed.matrix(), 0, 3);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("row 37, column 64"));
  }
}

TEST(PackedMatrix, BadFp8ScaleIsRefused) {
  RandomWeight weight(WeightFormat::kFp8Block128, 200, 256, 1);
  const float bad = -std::numeric_limits<float>::infinity();
  std::memcpy(weight.scale().data() + 3 * 4, &bad, 4);
  const OwnedPacked packed(WeightFormat::kFp8Block128, 200, 256);
  const absl::Status status = PackPanels(weight.view(), packed.matrix(), 0, 13);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("row 128, column 128"));
}

TEST(PackedMatrix, Fp8NanIsRefusedWithItsPlace) {
  for (const std::byte code : {std::byte{0x7f}, std::byte{0xff}}) {
    RandomWeight weight(WeightFormat::kFp8Block128, 20, 64, 1);
    weight.weight()[18 * 64 + 63] = code;
    const OwnedPacked packed(WeightFormat::kFp8Block128, 20, 64);
    const absl::Status status = PackPanels(weight.view(), packed.matrix(), 0, 2);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("row 18, column 63"));
  }
}

}  // namespace
}  // namespace stoker::kernels
