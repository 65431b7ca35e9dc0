// The step of an instance on a cluster (docs/parallel.md, *Planned orders and fusions*).
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/instance.h"
#include "src/parallel/large_graphs.h"
#include "src/parallel/ordered_step.h"

namespace xflow::parallel {

// An instance as a workload, whose nodes may be fused.
struct StepInstance {
  Workload workload;
  std::vector<FusionChoice> fusions;
  std::vector<std::uint32_t> nodes;  // of the workload: their positions in the instance

  OrderedProblem problem(const DeviceCluster& cluster) const { return {workload, cluster, fusions}; }
};

// All devices take the times of the accelerators, or those of the CPUs for nodes that need one. The cost of
// an output is the time of its transfer between devices of one host, and sizes of nodes are resident.
// Classes of colours are not respected. Errors: unsupported for an instance whose nodes read each other.
Result<StepInstance> step_instance(const PlacementInstance& instance, const DeviceCluster& cluster, const std::string& where);

// A large graph as an instance with as many accelerators as the cluster has devices, whose times are those
// of the first device, and one CPU that takes 20 times as long. step_instance() of it is the graph, up to
// rounding.
PlacementInstance instance_of(const LargeGraph& graph, const DeviceCluster& cluster);

}  // namespace xflow::parallel
