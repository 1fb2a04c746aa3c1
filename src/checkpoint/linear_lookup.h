#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "tensor/linear_weight.h"
#include "tensor/view.h"

namespace stoker::checkpoint {

/// OK when tensor `name` has exactly `shape`; else kInvalidArgument that shows both.
absl::Status CheckShape(std::string_view name, const tensor::TensorView& view,
                        std::span<const std::size_t> shape);

/// The body of Checkpoint::FindLinear, in messages without the folder.
absl::StatusOr<tensor::LinearWeight> LookUpLinear(const Checkpoint& checkpoint,
                                                  std::string_view name, std::size_t rows,
                                                  std::size_t cols);

}  // namespace stoker::checkpoint
