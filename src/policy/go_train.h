// A training of GO on seeded large graphs.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/policy/go_trainer.h"

namespace xflow::policy {

// How far a training is.
struct GoProgress {
  std::uint64_t updates = 0;
  // Over the updates since the last report, as in GoUpdate.
  double mean_ratio = 1;
  double best_ratio = 1;
  double entropy = 0;
  // Geometric mean of step / step of HEFT over graphs for validation after some passes: of the last weights,
  // and of the best ones so far.
  double ratio = 1;
  double least_ratio = 1;
};

struct GoTrainOptions {
  parallel::DeviceCluster cluster;            // with rooflines
  std::vector<std::uint32_t> sizes = {1000};  // nodes of graphs, in turn
  std::uint64_t updates = 1000;               // in all, with those that the policy has
  std::uint64_t seed = 1;                     // of graphs, first weights and choices, if there is no policy to continue
  std::function<void(const GoProgress&, const GoPolicy&)> progress;  // called after each validation
  CancellationToken cancel;                                          // finish() ends the call with the best policy so far
};

// Seeds of large_graph() below it are not those of a training.
inline constexpr std::uint64_t kFirstGoSeed = std::uint64_t{1} << 32U;

// Trains a policy, or goes on with the training of `policy`. Graphs are replaced one by one: each has
// updates from the plan of HEFT on, each of them from the best plan so far. Deterministic, unless it is
// cancelled. Errors: those of large_graph().
Result<GoPolicy> go_train(const GoTrainOptions& options, const GoPolicy* policy = nullptr);

}  // namespace xflow::policy
