#include <algorithm>
#include <memory>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "sys/bandwidth.h"
#include "sys/thread_pool.h"
#include "sys/topology.h"

namespace stoker::cli {
namespace {

// 1, 2, 4, … and `most` itself.
std::vector<int> ThreadCounts(int most) {
  std::vector<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

class BenchMemory final : public Command {
 public:
  [[nodiscard]] Info info() const override {
    return {.name = "bench memory",
            .summary = "Measure the machine's read bandwidth by number of threads.",
            .examples = "stoker bench memory\nstoker bench memory --threads 8 --json"};
  }

  void AddOptions(Options& options) override {
    options.Value("--passes", "N", passes_,
                  "passes over 1 GiB, of which the best counts; default 5");
  }

  [[nodiscard]] absl::Status Check(const CommonOptions& /*common*/) const override {
    if (passes_ < 1 || passes_ > 1000) return InvalidArgument("--passes: use 1 to 1000");
    return absl::OkStatus();
  }

  absl::Status Run(const CommonOptions& common, const Console&) override {
    STOKER_ASSIGN_OR_RETURN(const sys::Topology topology, sys::DetectTopology());
    const int most = common.threads > 0 ? common.threads : static_cast<int>(topology.cores.size());
    std::vector<Row> rows;
    for (const int threads : ThreadCounts(most)) {
      STOKER_ASSIGN_OR_RETURN(const std::unique_ptr<sys::ThreadPool> pool,
                              sys::ThreadPool::Create(topology, {.threads = threads, .pin = true}));
      STOKER_ASSIGN_OR_RETURN(const double bytes_per_s, Measure(*pool));
      rows.push_back({threads, bytes_per_s / 1e9});
    }
    Print(common.json ? Json(rows) : Text(rows));
    return absl::OkStatus();
  }

 private:
  struct Row {
    int threads;
    double gb_per_s;
  };

  // The best of all passes. An interrupt ends it between two of them.
  [[nodiscard]] absl::StatusOr<double> Measure(sys::ThreadPool& pool) const {
    STOKER_ASSIGN_OR_RETURN(sys::ReadBandwidth reader, sys::ReadBandwidth::Create(pool));
    double best = 0.0;
    for (int pass = 0; pass < passes_; ++pass) {
      if (InterruptFlag().load()) return Cancelled("stopped");
      best = std::max(best, reader.Measure(1));
    }
    return best;
  }

  static double Peak(const std::vector<Row>& rows) {
    return std::ranges::max(rows, {}, &Row::gb_per_s).gb_per_s;
  }

  static std::string Json(const std::vector<Row>& rows) {
    nlohmann::ordered_json json = {{"rows", nlohmann::json::array()},
                                   {"peak_gb_per_s", Peak(rows)}};
    for (const Row& row : rows) {
      json["rows"].push_back({{"threads", row.threads},
                              {"gb_per_s", row.gb_per_s},
                              {"share_of_peak", row.gb_per_s / Peak(rows)}});
    }
    return DumpJson(json) + "\n";
  }

  static std::string Text(const std::vector<Row>& rows) {
    Table table({{"threads"}, {"GB/s"}, {"a thread"}, {"of peak"}});
    for (const Row& row : rows) {
      table.AddRow({fmt::format("{}", row.threads), fmt::format("{:.1f}", row.gb_per_s),
                    fmt::format("{:.1f}", row.gb_per_s / row.threads),
                    fmt::format("{:.0f} %", 100.0 * row.gb_per_s / Peak(rows))});
    }
    return table.Render();
  }

  int passes_ = 5;
};

}  // namespace

std::unique_ptr<Command> NewBenchMemoryCommand() {
  return std::make_unique<BenchMemory>();
}

}  // namespace stoker::cli
