#include "kernels/packed_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/math.h"
#include "base/status.h"
#include "kernels/context.h"
#include "kernels/isa.h"
#include "kernels/op_table.h"
#include "tensor/float_types.h"

namespace stoker::kernels {
namespace {

using tensor::Bf16;
using tensor::F16;
using tensor::F8E4M3;
using tensor::kFp8Block;
using tensor::kInt4Group;
using tensor::LinearWeight;
using tensor::ToFloat;
using tensor::WeightFormat;

constexpr std::size_t kAlign = 64;
constexpr std::size_t kInt4GroupBytes = kPanelRows * kInt4Group / 2;

std::size_t PanelBytes(WeightFormat format, std::size_t cols) {
  std::size_t bytes = 0;
  switch (format) {
    case WeightFormat::kF32:
      bytes = cols * kPanelRows * 4;
      break;
    case WeightFormat::kF16:
      bytes = cols * kPanelRows * 2;
      break;
    case WeightFormat::kBf16:
      bytes = DivCeil(cols, 2) * kPanelRows * 4;
      break;
    case WeightFormat::kFp8Block128:
      bytes = cols * kPanelRows + tensor::Fp8Blocks(cols) * 4;
      break;
    case WeightFormat::kInt4Group32:
      bytes = DivCeil(cols, kInt4Group) * (kInt4GroupBytes + kPanelRows * 2);
      break;
  }
  return DivCeil(bytes, kAlign) * kAlign;
}

/// Reads element `index` of an array of T that need not be aligned.
template <typename T>
T Load(const std::byte* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* data, std::size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

std::size_t SourceBytes(const LinearWeight& source) {
  switch (source.format) {
    case WeightFormat::kF32:
      return source.rows * source.cols * 4;
    case WeightFormat::kF16:
    case WeightFormat::kBf16:
      return source.rows * source.cols * 2;
    case WeightFormat::kFp8Block128:
      return source.rows * source.cols;
    case WeightFormat::kInt4Group32:
      return source.rows * source.cols / 2;
  }
  return 0;
}

absl::Status BadScale(std::size_t row, std::size_t col) {
  return InvalidArgument("scale at row {}, column {} is not a finite number", row, col);
}

/// Where element (lane, col) of a panel of 16- or 32-bit elements lies.
std::size_t FloatIndex(WeightFormat format, std::size_t lane, std::size_t col) {
  return format == WeightFormat::kBf16 ? (col / 2) * 2 * kPanelRows + 2 * lane + col % 2
                                       : col * kPanelRows + lane;
}

/// The kernels that pack, whichever others run: packing moves bits.
const OpTable& PackOps() {
  static const OpTable& ops = OpsFor(SupportedIsas().front());
  return ops;
}

/// Where 16 rows start.
class RowStarts {
 public:
  RowStarts(const std::byte* base, std::size_t row0, std::size_t row_bytes) {
    for (std::size_t lane = 0; lane < kPanelRows; ++lane) {
      rows_[lane] = base + (row0 + lane) * row_bytes;
    }
  }
  [[nodiscard]] const std::byte* const* data() const { return rows_.data(); }

 private:
  std::array<const std::byte*, kPanelRows> rows_;
};

template <typename T>
void PackFloatPanel(const LinearWeight& source, std::size_t row0, std::size_t lanes,
                    std::byte* panel) {
  // A column of float32, or a pair of columns of BF16, is one word.
  const bool words = source.format == WeightFormat::kF32 ||
                     (source.format == WeightFormat::kBf16 && source.cols % 2 == 0);
  if (words && lanes == kPanelRows) {
    const RowStarts rows(source.weight.data(), row0, source.cols * sizeof(T));
    PackOps().pack_words(rows.data(), source.cols * sizeof(T) / 4, panel);
    return;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::byte* row = source.weight.data() + (row0 + lane) * source.cols * sizeof(T);
    for (std::size_t col = 0; col < source.cols; ++col) {
      Store<T>(panel, FloatIndex(source.format, lane, col), Load<T>(row, col));
    }
  }
}

absl::Status PackFp8Panel(const LinearWeight& source, std::size_t row0, std::size_t lanes,
                          std::byte* panel) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::byte* row = source.weight.data() + (row0 + lane) * source.cols;
    for (std::size_t col = 0; col < source.cols; ++col) {
      if ((row[col] & std::byte{0x7f}) == std::byte{0x7f}) {
        return InvalidArgument("FP8 weight at row {}, column {} is NaN", row0 + lane, col);
      }
      panel[col * kPanelRows + lane] = row[col];
    }
  }
  const std::size_t blocks = tensor::Fp8Blocks(source.cols);
  const std::size_t first_scale = (row0 / kFp8Block) * blocks;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto scale = Load<float>(source.scale.data(), first_scale + block);
    if (!std::isfinite(scale)) return BadScale(row0, block * kFp8Block);
    Store<float>(panel + source.cols * kPanelRows, block, scale);
  }
  return absl::OkStatus();
}

void PackInt4Nibbles(const LinearWeight& source, std::size_t row0, std::size_t lanes,
                     std::byte* panel) {
  const std::size_t groups = source.cols / kInt4Group;
  if (lanes == kPanelRows) {
    const RowStarts rows(source.weight.data(), row0, source.cols / 2);
    PackOps().pack_int4(rows.data(), groups, panel);
    return;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::byte* nibbles = source.weight.data() + (row0 + lane) * source.cols / 2;
    for (std::size_t group = 0; group < groups; ++group) {
      // 16 source bytes: byte b holds columns 2b (low nibble) and 2b + 1 (high nibble).
      const std::byte* from = nibbles + group * kInt4Group / 2;
      std::byte* to = panel + group * kInt4GroupBytes + 4 * lane;
      for (std::size_t i = 0; i < kInt4Group / 2; ++i) {
        const unsigned shift = (i % 2) * 4;
        const std::byte low = (from[i / 2] >> shift) & std::byte{0xf};
        const std::byte high = (from[8 + i / 2] >> shift) & std::byte{0xf};
        to[(i / 4) * 64 + i % 4] = low | (high << 4);
      }
    }
  }
}

absl::Status PackInt4Panel(const LinearWeight& source, std::size_t row0, std::size_t lanes,
                           std::byte* panel) {
  PackInt4Nibbles(source, row0, lanes, panel);
  const std::size_t groups = source.cols / kInt4Group;
  std::byte* scales = panel + groups * kInt4GroupBytes;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t row = row0 + lane;
    for (std::size_t group = 0; group < groups; ++group) {
      const auto scale = Load<Bf16>(source.scale.data(), row * groups + group);
      if (!std::isfinite(ToFloat(scale))) return BadScale(row, group * kInt4Group);
      Store<Bf16>(scales, group * kPanelRows + lane, scale);
    }
  }
  return absl::OkStatus();
}

absl::Status PackPanel(const LinearWeight& source, std::size_t row0, std::size_t lanes,
                       std::byte* panel) {
  switch (source.format) {
    case WeightFormat::kF32:
      PackFloatPanel<std::uint32_t>(source, row0, lanes, panel);
      return absl::OkStatus();
    case WeightFormat::kF16:
    case WeightFormat::kBf16:
      PackFloatPanel<std::uint16_t>(source, row0, lanes, panel);
      return absl::OkStatus();
    case WeightFormat::kFp8Block128:
      return PackFp8Panel(source, row0, lanes, panel);
    case WeightFormat::kInt4Group32:
      return PackInt4Panel(source, row0, lanes, panel);
  }
  return absl::OkStatus();
}

}  // namespace

std::size_t PackedMatrix::panel_bytes() const {
  return PanelBytes(format, cols);
}

std::size_t PackedBytes(WeightFormat format, std::size_t rows, std::size_t cols) {
  return DivCeil(rows, kPanelRows) * PanelBytes(format, cols);
}

absl::Status PackPanels(const LinearWeight& source, const PackedMatrix& target,
                        std::size_t first_panel, std::size_t panel_count) {
  STOKER_CHECK(source.format == target.format && source.rows == target.rows &&
               source.cols == target.cols);
  STOKER_CHECK(first_panel + panel_count <= target.panels());
  STOKER_CHECK(source.weight.size() == SourceBytes(source));
  STOKER_CHECK(source.format != WeightFormat::kInt4Group32 || source.cols % kInt4Group == 0);
  const std::size_t panel_bytes = target.panel_bytes();
  for (std::size_t panel = first_panel; panel < first_panel + panel_count; ++panel) {
    const std::size_t row0 = panel * kPanelRows;
    const std::size_t lanes = std::min(kPanelRows, source.rows - row0);
    std::byte* to = target.data + panel * panel_bytes;
    // A whole panel's padding is less than a line at its end.
    const std::size_t zeroed = lanes == kPanelRows ? kAlign : panel_bytes;
    std::memset(to + panel_bytes - zeroed, 0, zeroed);
    STOKER_RETURN_IF_ERROR(PackPanel(source, row0, lanes, to));
  }
  return absl::OkStatus();
}

float WeightAt(const PackedMatrix& matrix, std::size_t row, std::size_t col) {
  STOKER_DCHECK(row < matrix.panels() * kPanelRows && col < matrix.cols);
  const std::byte* panel = matrix.panel(row / kPanelRows);
  const std::size_t lane = row % kPanelRows;
  switch (matrix.format) {
    case WeightFormat::kF32:
      return Load<float>(panel, FloatIndex(matrix.format, lane, col));
    case WeightFormat::kF16:
      return ToFloat(Load<F16>(panel, FloatIndex(matrix.format, lane, col)));
    case WeightFormat::kBf16:
      return ToFloat(Load<Bf16>(panel, FloatIndex(matrix.format, lane, col)));
    case WeightFormat::kFp8Block128: {
      const std::byte* scales = panel + matrix.cols * kPanelRows;
      return ToFloat(Load<F8E4M3>(panel, col * kPanelRows + lane)) *
             Load<float>(scales, col / kFp8Block);
    }
    case WeightFormat::kInt4Group32: {
      const std::size_t group = col / kInt4Group;
      const std::size_t in_half = col % (kInt4Group / 2);
      const bool high = col % kInt4Group >= kInt4Group / 2;
      const std::byte* scales = panel + matrix.cols / kInt4Group * kInt4GroupBytes;
      const auto byte = static_cast<unsigned>(
          panel[group * kInt4GroupBytes + (in_half / 4) * 64 + 4 * lane + in_half % 4]);
      const int nibble = static_cast<int>(high ? byte >> 4 : byte & 0xfU);
      return static_cast<float>(nibble - 8) *
             ToFloat(Load<Bf16>(scales, group * kPanelRows + lane));
    }
  }
  return 0.0F;
}

}  // namespace stoker::kernels
