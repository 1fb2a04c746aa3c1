#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker::tensor {

/// Element types that a checkpoint may hold.
enum class DType : std::uint8_t { kF32, kF16, kBf16, kF8E4M3, kI32, kI64, kU8, kI8, kBool };

/// Bytes of one element.
constexpr std::size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
      return 2;
    case DType::kI64:
      return 8;
    case DType::kF8E4M3:
    case DType::kU8:
    case DType::kI8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

/// The safetensors spelling: "BF16", "F8_E4M3", …
constexpr std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBf16:
      return "BF16";
    case DType::kF8E4M3:
      return "F8_E4M3";
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
    case DType::kU8:
      return "U8";
    case DType::kI8:
      return "I8";
    case DType::kBool:
      return "BOOL";
  }
  return "?";
}

/// The inverse of Name; nothing for a spelling that Stoker does not know.
constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kF8E4M3, DType::kI32,
                            DType::kI64, DType::kU8, DType::kI8, DType::kBool}) {
    if (Name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace stoker::tensor
