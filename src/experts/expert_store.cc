#include "experts/expert_store.h"

#include "base/check.h"
#include "base/status.h"

namespace stoker::experts {

ExpertLease::~ExpertLease() {
  store_->Release(layer_, demands_);
}

absl::StatusOr<std::span<const ReadyExpert>> ExpertLease::Next() {
  std::vector<ReadyExpert>& ready = store_->ready_;
  ready.clear();
  if (yielded_ < demands_.size()) {
    STOKER_RETURN_IF_ERROR(store_->NextReady(layer_, demands_, yielded_, ready));
    STOKER_CHECK(!ready.empty());
    yielded_ += ready.size();
  }
  return std::span<const ReadyExpert>(ready);
}

absl::Status ResidentExperts::NextReady(LayerId layer, std::span<const ExpertDemand> demands,
                                        std::size_t yielded, std::vector<ReadyExpert>& ready) {
  const std::vector<kernels::MlpWeights>& experts = weights_[Index(layer)];
  for (const ExpertDemand& demand : demands.subspan(yielded)) {
    ready.push_back({demand.expert, &experts[static_cast<std::size_t>(demand.expert)]});
  }
  return absl::OkStatus();
}

}  // namespace stoker::experts
