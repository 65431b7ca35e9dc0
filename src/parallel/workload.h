// What a step computes: nodes with a time on each device of a cluster, and the tensors between them.
#pragma once

#include <cstdint>
#include <vector>

#include "xflow/error.h"

namespace xflow::parallel {

struct WorkloadNode {
  std::vector<double> seconds;  // on each device
  double bytes = 0;             // resident while the step runs, such as weights
};

struct WorkloadTensor {
  std::uint32_t source = 0;  // node that computes it
  double bytes = 0;
  std::vector<std::uint32_t> readers;  // increasing; all above the source. None: a result of the step
};

struct Workload {
  std::vector<WorkloadNode> nodes;      // operands before users
  std::vector<WorkloadTensor> tensors;  // by increasing source
};

// Whether the workload is as described. Errors: invalid_argument with the first node or tensor that is not,
// for numbers that are negative or not finite, and for more tasks than 2^32.
Result<void> check_workload(const Workload& workload, std::uint32_t devices);

}  // namespace xflow::parallel
