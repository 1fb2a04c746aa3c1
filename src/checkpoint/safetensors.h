#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/dtype.h"

namespace stoker::checkpoint {

/// Where one tensor lies in a safetensors file.
struct TensorEntry {
  std::string_view name;
  tensor::DType dtype = tensor::DType::kF32;
  std::span<const std::size_t> shape;
  std::uint64_t offset = 0;  ///< of its first byte, from the start of the file
  std::uint64_t bytes = 0;
};

/// The header of a safetensors file: which tensors it holds and where.
/// Format: github.com/huggingface/safetensors, README, "Format".
class SafetensorsHeader {
 public:
  /// Reads and validates the header of a whole file. Every tensor's dtype is known, its bytes are
  /// what its shape takes, and the tensors fill the file without hole or overlap; so whoever slices
  /// `file` by an entry stays inside it.
  /// Errors: kInvalidArgument naming what is wrong, and the tensor where there is one;
  /// kUnimplemented for a dtype that Stoker does not know.
  static absl::StatusOr<SafetensorsHeader> Parse(std::span<const std::byte> file);

  SafetensorsHeader(SafetensorsHeader&&) noexcept = default;
  SafetensorsHeader& operator=(SafetensorsHeader&&) noexcept = default;

  /// In ascending order of offset. Views into this object.
  [[nodiscard]] std::span<const TensorEntry> tensors() const { return tensors_; }

 private:
  SafetensorsHeader() = default;

  // Vectors, because moving one moves its memory along: the entries' views stay valid.
  std::vector<char> names_;
  std::vector<std::size_t> shapes_;
  std::vector<TensorEntry> tensors_;
};

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<std::size_t> shape;

  /// Bytes that the tensor takes. The product must fit 64 bits.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// The start of a safetensors file, length and header, for tensors whose bytes follow in this
/// order. Padded with spaces so that the bytes start at a multiple of 64.
std::string FormatSafetensorsHeader(std::span<const TensorSpec> tensors);

/// A name from a file as an error message shows it: quoted, on one line, at most 200 bytes.
std::string QuotedName(std::string_view name);

}  // namespace stoker::checkpoint
