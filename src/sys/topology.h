#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stoker::sys {

/// The machine's physical cores by NUMA node, within what this process may use.
struct Topology {
  struct Core {
    int cpu = 0;   ///< operating system's index of the core's first hardware thread
    int node = 0;  ///< NUMA node, [0, nodes)
  };
  std::vector<Core> cores;  ///< in node order
  int nodes = 1;            ///< NUMA nodes, those without a core of ours too
};

/// Reads the machine's topology (hwloc), restricted to the process's CPU affinity.
absl::StatusOr<Topology> DetectTopology();

/// A made-up machine for tests, in hwloc's synthetic notation: "node:2 core:4 pu:2".
absl::StatusOr<Topology> SyntheticTopology(const std::string& description);

}  // namespace stoker::sys
