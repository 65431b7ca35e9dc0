// Plans of a whole step that a search begins with: one device, HEFT, and intervals of an order.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/parallel/random_numbers.h"

namespace xflow::parallel {

// The longest time from the begin of each node to the end of the step, in seconds: the rank of HEFT. Times
// are means over devices, and transfers means over pairs of devices.
std::vector<double> upward_ranks(const Workload& workload, const DeviceCluster& cluster);

// The plans below have upward ranks of tasks as priorities, and take the fusions in `fused`, one for each
// choice.

// All nodes on the device.
OrderedPlan one_device_plan(const OrderedProblem& problem, const std::vector<bool>& fused, std::uint32_t device);

// Heterogeneous earliest finish time (Topcuoglu, Hariri and Wu, Performance-Effective and Low-Complexity
// Task Scheduling for Heterogeneous Computing, 2002), without filling gaps: tasks by falling rank, each on
// the device where it ends first. Links serve one transfer at a time, in the order in which the readers are
// placed (Sinnen and Sousa, Communication Contention in Task Scheduling, 2005). A device gets no bytes that
// exceed its memory while another one can hold them.
OrderedPlan heft_plan(const OrderedProblem& problem, const std::vector<bool>& fused);

// How the nodes of an interval plan are ordered.
enum class IntervalOrder : std::uint8_t {
  depth_first,  // a random topological order that goes deep (random_order)
  // Nodes that exchange many bytes are close together: clusters are matched along their heaviest tensors,
  // level by level (Karypis and Kumar, A Fast and High Quality Multilevel Scheme for Partitioning Irregular
  // Graphs, 1998). It need not be topological.
  clustered,
};

// One interval of an order for each device, so that the largest load is smallest (best_intervals, of blocks
// of consecutive tasks if there are many). The load of a device is the mean time of its tasks and of
// transfers to and from it.
OrderedPlan interval_plan(const OrderedProblem& problem, const std::vector<bool>& fused, IntervalOrder order, RandomNumbers& random);

}  // namespace xflow::parallel
