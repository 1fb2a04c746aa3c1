#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "kernels/mlp.h"

namespace stoker::experts {

/// One expert that a step needs, and how many of the step's tokens chose it.
struct ExpertDemand {
  std::int32_t expert = 0;
  std::int32_t tokens = 0;
};

/// An expert whose weights may be read until its lease ends.
struct ReadyExpert {
  std::int32_t expert = 0;
  const kernels::MlpWeights* weights = nullptr;
};

class ExpertStore;

/// Holds the experts of one layer in place for as long as a step reads them. Lets go of them when
/// destroyed. One lease at a time per store.
class ExpertLease {
 public:
  ~ExpertLease();
  ExpertLease(const ExpertLease&) = delete;
  ExpertLease& operator=(const ExpertLease&) = delete;

  /// The next experts that are ready, in no promised order; waits for one where none is. Empty when
  /// every demand has been met. The span lives until the next call.
  /// Errors: whatever kept an expert from arriving; the requests that need it must fail.
  absl::StatusOr<std::span<const ReadyExpert>> Next();

 private:
  friend class ExpertStore;
  ExpertLease(ExpertStore& store, LayerId layer, std::span<const ExpertDemand> demands)
      : store_(&store), layer_(layer), demands_(demands) {}

  ExpertStore* store_;
  LayerId layer_;
  std::span<const ExpertDemand> demands_;
  std::size_t yielded_ = 0;
};

/// Where routed experts live and how a layer gets at them. Used by one step at a time.
class ExpertStore {
 public:
  virtual ~ExpertStore() = default;

  /// Pins the demanded experts of `layer`. `demands` must outlive the lease and name no expert
  /// twice.
  [[nodiscard]] ExpertLease Acquire(LayerId layer, std::span<const ExpertDemand> demands) {
    return {*this, layer, demands};
  }

 protected:
  friend class ExpertLease;

  /// Appends to `ready` at least one more expert of `demands`, of which `yielded` have been handed
  /// out, waiting for it if need be.
  virtual absl::Status NextReady(LayerId layer, std::span<const ExpertDemand> demands,
                                 std::size_t yielded, std::vector<ReadyExpert>& ready) = 0;
  /// The step is done with `demands`.
  virtual void Release(LayerId layer, std::span<const ExpertDemand> demands) = 0;

 private:
  std::vector<ReadyExpert> ready_;  // kept between leases: no allocation in the decode loop
};

/// Every expert in memory for good: the store of a model that fits.
class ResidentExperts final : public ExpertStore {
 public:
  /// weights[layer][expert]; empty for dense layers. The weights' memory must outlive the store.
  explicit ResidentExperts(std::vector<std::vector<kernels::MlpWeights>> weights)
      : weights_(std::move(weights)) {}

 private:
  absl::Status NextReady(LayerId layer, std::span<const ExpertDemand> demands, std::size_t yielded,
                         std::vector<ReadyExpert>& ready) override;
  void Release(LayerId, std::span<const ExpertDemand>) override {}

  std::vector<std::vector<kernels::MlpWeights>> weights_;
};

}  // namespace stoker::experts
