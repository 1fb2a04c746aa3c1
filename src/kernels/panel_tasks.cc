#include "kernels/panel_tasks.h"

#include <algorithm>

#include "base/check.h"

namespace stoker::kernels {

void PanelTasks::Assign(const std::vector<int>& workers_per_node, std::size_t jobs,
                        absl::FunctionRef<Cut(std::size_t job)> cut_of) {
  pieces_.clear();
  shares_.clear();
  for (std::size_t node = 0; node < workers_per_node.size(); ++node) {
    const std::size_t begin = pieces_.size();
    for (std::size_t job = 0; job < jobs; ++job) {
      const Cut cut = cut_of(job);
      STOKER_DCHECK(cut.step >= 1);
      const sys::TaskRange own = sys::NodeShare(cut.units, workers_per_node, node);
      for (std::size_t first = own.begin; first < own.end; first += cut.step) {
        pieces_.push_back({static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(first),
                           static_cast<std::uint32_t>(std::min(cut.step, own.end - first))});
      }
    }
    shares_.push_back({begin, pieces_.size()});
  }
}

}  // namespace stoker::kernels
