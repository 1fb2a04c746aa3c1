#pragma once

#include "absl/status/status.h"
#include "checkpoint/checkpoint.h"

namespace stoker::checkpoint {

/// Whether the folder's tensors are those of the model that its config.json describes: each there,
/// in a supported format and of the right shape, and none besides. (Vision and multi-token
/// prediction are left out when the folder is opened; stored rope frequencies are ignored.)
///
/// A config.json of another model would otherwise give answers, and wrong ones.
/// Errors: as Checkpoint::FindLinear; kInvalidArgument naming a tensor that the model does not
/// have.
absl::Status CheckTensors(const Checkpoint& checkpoint);

}  // namespace stoker::checkpoint
