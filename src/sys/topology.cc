#include "sys/topology.h"

#include <hwloc.h>
#include <sched.h>

#include <memory>
#include <optional>

#include "base/status.h"

namespace stoker::sys {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

// Index of the NUMA node whose memory is local to `core`; 0 where the machine names none.
int NodeOf(hwloc_topology_t topology, hwloc_obj_t core, int nodes) {
  for (int node = 0; node < nodes; ++node) {
    hwloc_obj_t object =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
    if (object != nullptr && hwloc_bitmap_intersects(object->cpuset, core->cpuset) != 0) {
      return node;
    }
  }
  return 0;
}

// Cores; hardware threads where the system does not tell which share a core.
hwloc_obj_type_t CoreType(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

// Where this process might run when it first asked: a pool that pins its caller does not make the
// machine smaller for the next one.
const cpu_set_t* AllowedCpus() {
  static const std::optional<cpu_set_t> kAllowed = []() -> std::optional<cpu_set_t> {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::nullopt;
    return set;
  }();
  return kAllowed ? &*kAllowed : nullptr;
}

Topology ReadCores(hwloc_topology_t topology, const cpu_set_t* allowed) {
  Topology result;
  result.nodes = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
  std::vector<std::vector<Topology::Core>> by_node(static_cast<std::size_t>(result.nodes));
  const hwloc_obj_type_t type = CoreType(topology);
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr) {
    // The first hardware thread of this core that we may run on.
    for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(core->cpuset, cpu)) {
      if (allowed != nullptr && CPU_ISSET(static_cast<unsigned>(cpu), allowed) == 0) continue;
      const int node = NodeOf(topology, core, result.nodes);
      by_node[static_cast<std::size_t>(node)].push_back({cpu, node});
      break;
    }
  }
  for (const auto& cores : by_node) {
    result.cores.insert(result.cores.end(), cores.begin(), cores.end());
  }
  return result;
}

absl::StatusOr<HwlocTopology> Load(const char* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return absl::InternalError("hwloc cannot start");
  HwlocTopology topology(raw);
  if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic) != 0) {
    return InvalidArgument("\"{}\" is not a topology; write for example node:2 core:4 pu:1",
                           synthetic);
  }
  if (hwloc_topology_load(raw) != 0) return absl::InternalError("hwloc cannot read the machine");
  return topology;
}

}  // namespace

absl::StatusOr<Topology> DetectTopology() {
  absl::StatusOr<HwlocTopology> topology = Load(nullptr);
  if (!topology.ok()) return topology.status();
  Topology result = ReadCores(topology->get(), AllowedCpus());
  if (result.cores.empty()) return absl::InternalError("no processor core may be used");
  return result;
}

absl::StatusOr<Topology> SyntheticTopology(const std::string& description) {
  absl::StatusOr<HwlocTopology> topology = Load(description.c_str());
  if (!topology.ok()) return topology.status();
  return ReadCores(topology->get(), nullptr);
}

}  // namespace stoker::sys
