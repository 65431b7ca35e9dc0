// Chains of proposals that split operators: each is simulated by what it changes, and in full.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/parallel/cluster.h"

namespace xflow::bench {

struct SplitSettings {
  std::uint64_t proposals = 0;  // of each chain
  double temperature = 0;       // share of the first step
  std::uint64_t seed = 1;
  std::vector<std::string> starts = {"data parallel", "random"};  // `random`, and names of start plans: a row for each
  bool checks = false;                                            // compare with the simulation of the workload as well
};

// Prints the lines of a table on training steps of a model. Errors: those of reading it,
// invalid_argument for a start that the model does not have, and internal if results differ.
Result<void> measure_splits(const std::string& model, const parallel::DeviceCluster& cluster, const SplitSettings& settings);

}  // namespace xflow::bench
