// Trains policies that place graphs on devices (docs/placement.md). PlaceOptions::policy uses them.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/place.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xflow {

// How a policy is trained and what it decides.
enum class PolicyMethod : std::uint8_t {
  // One group of nodes at a time, with rewards after each (Addanki et al., Learning Generalizable Device
  // Placement Algorithms for Distributed Machine Learning, NeurIPS 2019).
  placeto,
  // Devices, order and fusions of a whole step, by changes of a plan (Zhou et al., Transferable Graph
  // Optimizers for ML Compilers, NeurIPS 2020). For the objective step of place_step() and parallelize().
  go,
};
// Returns "placeto" or "go".
constexpr const char* to_string(PolicyMethod method) { return method == PolicyMethod::go ? "go" : "placeto"; }

// What placements of a policy make small. A policy is for one objective.
enum class PolicyObjective : std::uint8_t {
  max_load,  // PlacementObjective::max_load
  latency,   // PlacementObjective::latency
  step,      // the simulated step on a cluster: the objectives latency and training_step of parallelize()
};
// Returns "max-load", "latency" or "step".
constexpr const char* to_string(PolicyObjective objective) {
  switch (objective) {
    case PolicyObjective::max_load:
      return "max-load";
    case PolicyObjective::latency:
      return "latency";
    case PolicyObjective::step:
      return "step";
  }
  return "";
}

// Why a training ended.
enum class TrainingStop : std::uint8_t {
  finished,   // all steps were made
  cancelled,  // CancellationToken::finish()
  diverged,   // weights are no longer finite; the best ones so far are kept
};
// Returns the reason, for people.
constexpr const char* to_string(TrainingStop stop) {
  switch (stop) {
    case TrainingStop::finished:
      return "finished";
    case TrainingStop::cancelled:
      return "cancelled";
    case TrainingStop::diverged:
      return "diverged";
  }
  return "";
}

// How far a training is.
struct TrainingProgress {
  std::uint64_t step = 0;  // number of steps so far
  // Geometric mean of value / value of the first placement over the graphs of validation, for the policy of
  // this step and for the best one so far.
  double ratio = 1;
  double best_ratio = 1;  // see ratio
};

// The options of train_policy.
struct TrainPolicyOptions {
  PolicyMethod method = PolicyMethod::placeto;            // what the policy decides
  PolicyObjective objective = PolicyObjective::max_load;  // what placements make small
  // Graphs to train on: "generator:NAME" or "generator:NAME,NAME" with names of graph_family_names(), a
  // folder whose .json files are instances, or one instance (docs/parallel.md).
  std::string graphs;
  // For generated graphs: a cluster that is built in, or a file (docs/cluster.schema.json). The first device
  // and the links of a host give times of nodes and transfers. Steps, also of instances, are simulated on
  // all of its devices.
  std::string cluster = "dgx-h100";
  std::string out;  // file of the policy (.npz); it is also written during the training
  // In all, with those of a training that is resumed. Each is eight episodes on one graph, or an update by
  // 64 plans of one graph for the method go.
  std::uint64_t steps = 200;
  std::uint64_t seed = 1;  // of graphs, first weights and episodes. A resumed training keeps its own.
  // Continues the training of `out`, whose result is then the same as without the interruption.
  bool resume = false;
  std::function<void(const TrainingProgress&)> progress;  // called after each validation
  CancellationToken cancel;                               // finish() ends the call with the best policy so far
};

// What a training did.
struct TrainPolicyResult {
  std::uint64_t steps = 0;                     // made so far
  double ratio = 1;                            // TrainingProgress::best_ratio
  TrainingStop stop = TrainingStop::finished;  // why it ended
  std::uint64_t seed = 1;                      // TrainPolicyOptions::seed
  // For validation. A generated graph whose clusters are placed, too, counts twice.
  std::size_t graphs = 0;

  // Several lines of text.
  XFLOW_API std::string to_text() const;
};

// Names of generated graphs: "cells", "transformers", "layers", "recurrent", "inception", "large".
XFLOW_API std::vector<std::string> graph_family_names();

// Trains a policy and writes it. Runs in one thread; the result depends on the options alone.
//
// Errors: invalid_argument for an unknown family, for a resumed policy with another objective, for the
// method go with another objective than the step, and for the name of a shipped policy as the file;
// unreadable for a folder without instances, an instance or a cluster that is none, an instance in which
// nothing takes time, and a file to resume that is no policy of the method; unsupported for instances of
// more than 4,000 groups (placeto), latencies of backward nodes, and steps of nodes that read each other; io
// if the file cannot be written; limit, "cancelled", for CancellationToken::stop().
XFLOW_API Result<TrainPolicyResult> train_policy(const TrainPolicyOptions& options);

}  // namespace xflow
