// Rewrites and splits searched together: rewrites of a model that make the simulated step of its plan
// shorter (docs/parallelize.md, *Rewrites*).
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/api/cluster_model.h"
#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_search.h"

namespace xflow::api {

struct JointOptions {
  parallel::StepKind kind = parallel::StepKind::inference;
  std::uint64_t seed = 1;
  std::uint64_t proposals = 0;  // of plans for each graph, beside the start plans
  std::uint64_t graphs = 0;     // that are planned at most
  Seconds budget{};             // wall clock
  bool equal_parts = false;     // plans have equal parts alone
  bool writes_parts = false;    // parts consist of operators that the model's version of the operator set has
  CancellationToken cancel;
  std::function<void(std::uint64_t, Seconds)> progress;  // number of graphs, best step
};

struct JointResult {
  std::optional<std::string> model;          // ONNX bytes; nothing if no graph has a shorter step
  std::map<std::string, std::size_t> rules;  // number of rewrites of each
  double before = 0;                         // seconds of the step of the original, with the same number of proposals
  double after = 0;
  double optimised = 0;      // of what is best on one device; that of the original if that is it
  std::uint64_t graphs = 0;  // that were planned
  std::string refused;       // why a graph with a shorter step is not used; empty if there is none
};

// Plans the original, what a search by the times of one device makes of it with and without each of its
// rules, and then, from the best ones on, what each rule makes of a graph. A graph has a plan of its own
// from the start plans and some proposals. The parts that rewrites made of the best graph are executed as
// those of `xflow optimize`.
Result<JointResult> search_jointly(ClusterModel& model, const std::vector<parallel::OperatorSource>& operators,
                                   const parallel::DeviceCluster& cluster, const JointOptions& options);

}  // namespace xflow::api
