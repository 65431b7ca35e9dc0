// Collective operations as nodes and tensors of a workload, so that the simulator of steps times them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/workload.h"

namespace xflow::parallel {

// With r devices and tensors of n bytes; a transfer of x bytes takes t(x) = latency + x / bandwidth.
enum class CollectiveAlgorithm : std::uint8_t {
  ring_all_reduce,      // 2 (r - 1) steps of n / r bytes: 2 (r - 1) t(n / r) where no two share a link or port
  tree_all_reduce,      // a binomial tree up and down: 2 log2(r) t(n) for a power of two over links of their own
  ring_all_gather,      // r - 1 steps of n / r bytes: (r - 1) t(n / r)
  ring_reduce_scatter,  // the same times
  all_to_all,           // each device sends n / r bytes to each other: t(n / r) over links of their own,
                        // (r - 1) t(n / r) over one port for each device
};

struct Collective {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring_all_reduce;
  double bytes = 0;                    // n: of the tensor that a device has before or, for all-gather, after
  std::vector<std::uint32_t> devices;  // r of them, distinct, in the order of the ring; at least one
  // Of each device the tensor of the workload, computed there, that it contributes. Empty: nothing is waited
  // for.
  std::vector<std::uint32_t> inputs;
};

// Appends the operation to a workload and the devices of its nodes to `placement`, which has one for each
// node. Sums take no time. Returns the node of each device whose end is that of the operation there.
std::vector<std::uint32_t> add_collective(const Collective& collective, std::uint32_t cluster_devices, Workload& workload,
                                          std::vector<std::uint32_t>& placement);

}  // namespace xflow::parallel
