#include "checkpoint/linear_lookup.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/status.h"
#include "checkpoint/safetensors.h"
#include "fmt/format.h"

namespace stoker::checkpoint {
namespace {

using tensor::DType;
using tensor::LinearWeight;
using tensor::TensorView;
using tensor::WeightFormat;

absl::Status CheckDType(std::string_view name, const TensorView& view, DType wanted) {
  if (view.dtype == wanted) return absl::OkStatus();
  return Unimplemented("tensor {} has dtype {}; Stoker supports {} here", QuotedName(name),
                       tensor::Name(view.dtype), tensor::Name(wanted));
}

// A [2] tensor of whole numbers, I32 or I64.
absl::StatusOr<std::array<std::int64_t, 2>> ReadPair(std::string_view name,
                                                     const TensorView& view) {
  STOKER_RETURN_IF_ERROR(CheckShape(name, view, std::array<std::size_t, 1>{2}));
  std::array<std::int64_t, 2> pair{};
  if (view.dtype == DType::kI64) {
    std::memcpy(pair.data(), view.data.data(), view.data.size());
    return pair;
  }
  STOKER_RETURN_IF_ERROR(CheckDType(name, view, DType::kI32));
  std::array<std::int32_t, 2> narrow{};
  std::memcpy(narrow.data(), view.data.data(), view.data.size());
  return std::array<std::int64_t, 2>{narrow[0], narrow[1]};
}

struct Lookup {
  const Checkpoint& checkpoint;
  std::string_view name;
  std::size_t rows;
  std::size_t cols;

  [[nodiscard]] std::string Named(std::string_view suffix) const {
    return fmt::format("{}.{}", name, suffix);
  }
  [[nodiscard]] bool Has(std::string_view suffix) const { return checkpoint.Has(Named(suffix)); }

  // NAME.suffix, of exactly this dtype and shape.
  [[nodiscard]] absl::StatusOr<TensorView> Get(std::string_view suffix, DType dtype,
                                               std::array<std::size_t, 2> shape) const {
    const std::string full = Named(suffix);
    STOKER_ASSIGN_OR_RETURN(const TensorView view, checkpoint.Find(full));
    STOKER_RETURN_IF_ERROR(CheckDType(full, view, dtype));
    STOKER_RETURN_IF_ERROR(CheckShape(full, view, shape));
    return view;
  }
};

absl::StatusOr<LinearWeight> Int4(const Lookup& lookup) {
  const std::size_t rows = lookup.rows;
  const std::size_t cols = lookup.cols;
  if (lookup.checkpoint.config().quant != QuantMethod::kInt4PackQuantized) {
    return InvalidArgument("tensor {} is there, but config.json does not say pack-quantized",
                           QuotedName(lookup.Named("weight_packed")));
  }
  for (const std::string_view suffix : {"weight_zero_point", "weight_g_idx"}) {
    if (lookup.Has(suffix)) {
      return Unimplemented("tensor {}: Stoker supports symmetric INT4 in natural order only",
                           QuotedName(lookup.Named(suffix)));
    }
  }
  if (cols % tensor::kInt4Group != 0) {
    return InvalidArgument("tensor {} has {} columns; INT4 takes a multiple of {}",
                           QuotedName(lookup.Named("weight_packed")), cols, tensor::kInt4Group);
  }
  if (lookup.Has("weight_shape")) {
    const std::string shape_name = lookup.Named("weight_shape");
    STOKER_ASSIGN_OR_RETURN(const TensorView shape, lookup.checkpoint.Find(shape_name));
    STOKER_ASSIGN_OR_RETURN(const auto pair, ReadPair(shape_name, shape));
    if (!std::in_range<std::size_t>(pair[0]) || !std::in_range<std::size_t>(pair[1]) ||
        static_cast<std::size_t>(pair[0]) != rows || static_cast<std::size_t>(pair[1]) != cols) {
      return InvalidArgument("tensor {} says [{}, {}]; the model has [{}, {}]",
                             QuotedName(shape_name), pair[0], pair[1], rows, cols);
    }
  }
  STOKER_ASSIGN_OR_RETURN(const TensorView packed, lookup.Get("weight_packed", DType::kI32,
                                                              {rows, cols / tensor::kInt4PerWord}));
  STOKER_ASSIGN_OR_RETURN(const TensorView scale, lookup.Get("weight_scale", DType::kBf16,
                                                             {rows, cols / tensor::kInt4Group}));
  return LinearWeight{WeightFormat::kInt4Group32, rows, cols, packed.data, scale.data};
}

absl::StatusOr<LinearWeight> Fp8(const Lookup& lookup, const TensorView& weight) {
  if (lookup.checkpoint.config().quant != QuantMethod::kFp8Block) {
    return InvalidArgument("tensor {} is FP8, but config.json does not say fp8",
                           QuotedName(lookup.Named("weight")));
  }
  STOKER_ASSIGN_OR_RETURN(const TensorView scale, lookup.Get("weight_scale_inv", DType::kF32,
                                                             {tensor::Fp8Blocks(lookup.rows),
                                                              tensor::Fp8Blocks(lookup.cols)}));
  return LinearWeight{WeightFormat::kFp8Block128, lookup.rows, lookup.cols, weight.data,
                      scale.data};
}

// There is no such layer: says which other spelling the checkpoint uses, where that is known.
absl::Status Missing(const Lookup& lookup) {
  for (const std::string_view suffix : {"qweight", "weight_scale", "weight_blocks"}) {
    if (lookup.Has(suffix)) {
      return Unimplemented("tensor {} is of a quantisation that Stoker does not support",
                           QuotedName(lookup.Named(suffix)));
    }
  }
  constexpr std::string_view kExperts = ".mlp.experts.";
  if (const std::size_t at = lookup.name.find(kExperts); at != lookup.name.npos) {
    const std::string_view group = lookup.name.substr(0, at + kExperts.size());
    for (const std::string_view fused :
         {"gate_up_proj", "gate_up_proj.weight", "gate_up_proj_blocks", "gate_proj.weight"}) {
      const std::string name = fmt::format("{}{}", group, fused);
      if (lookup.checkpoint.Has(name)) {
        return Unimplemented("tensor {} fuses all experts; Stoker supports one tensor an expert",
                             QuotedName(name));
      }
    }
  }
  return NotFound("there is no tensor {}",
                  QuotedName(lookup.checkpoint.config().tensor_prefix + lookup.Named("weight")));
}

}  // namespace

absl::Status CheckShape(std::string_view name, const TensorView& view,
                        std::span<const std::size_t> shape) {
  if (std::equal(shape.begin(), shape.end(), view.shape.begin(), view.shape.end())) {
    return absl::OkStatus();
  }
  return InvalidArgument("tensor {} has shape [{}]; the model has [{}]", QuotedName(name),
                         fmt::join(view.shape, ", "), fmt::join(shape, ", "));
}

absl::StatusOr<LinearWeight> LookUpLinear(const Checkpoint& checkpoint, std::string_view name,
                                          std::size_t rows, std::size_t cols) {
  const Lookup lookup{checkpoint, name, rows, cols};
  if (lookup.Has("weight_packed")) return Int4(lookup);
  const std::string full = lookup.Named("weight");
  if (!checkpoint.Has(full)) return Missing(lookup);
  STOKER_ASSIGN_OR_RETURN(const TensorView weight, checkpoint.Find(full));
  STOKER_RETURN_IF_ERROR(CheckShape(full, weight, std::array<std::size_t, 2>{rows, cols}));
  switch (weight.dtype) {
    case DType::kF8E4M3:
      return Fp8(lookup, weight);
    case DType::kF32:
      return LinearWeight{WeightFormat::kF32, rows, cols, weight.data, {}};
    case DType::kF16:
      return LinearWeight{WeightFormat::kF16, rows, cols, weight.data, {}};
    case DType::kBf16:
      return LinearWeight{WeightFormat::kBf16, rows, cols, weight.data, {}};
    default:
      return Unimplemented("tensor {} has dtype {}; Stoker supports F32, F16, BF16 and F8_E4M3",
                           QuotedName(full), tensor::Name(weight.dtype));
  }
}

}  // namespace stoker::checkpoint
