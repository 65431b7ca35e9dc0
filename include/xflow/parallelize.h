// Splits the operators of a model over the devices of a cluster (docs/parallelize.md).
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/simulate.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

// What a plan makes small.
enum class ParallelObjective : std::uint8_t {
  latency,        // the time of an inference step
  throughput,     // the time between two samples of a pipeline, whose stages are whole nodes
  training_step,  // the time of a step with gradients and the update of the weights
};
// Returns "latency", "throughput" or "training-step".
constexpr const char* to_string(ParallelObjective objective) {
  switch (objective) {
    case ParallelObjective::latency:
      return "latency";
    case ParallelObjective::throughput:
      return "throughput";
    case ParallelObjective::training_step:
      return "training-step";
  }
  return "";
}

// How a plan is found.
enum class ParallelMethod : std::uint8_t {
  // operators are split by a search, with the method colocrl where splits gain little in 60 s or more; for
  // the throughput, the methods of place()
  automatic,
  local,    // whole operators: simulated annealing over the devices of groups
  colocrl,  // whole operators: a sequence policy that is trained on the steps of the plans it draws
  placeto,  // whole operators: a trained policy of this method (ParallelizeOptions::policy)
  go,       // likewise
};
// Returns "auto", "local", "colocrl", "placeto" or "go".
constexpr const char* to_string(ParallelMethod method) {
  switch (method) {
    case ParallelMethod::automatic:
      return "auto";
    case ParallelMethod::local:
      return "local";
    case ParallelMethod::colocrl:
      return "colocrl";
    case ParallelMethod::placeto:
      return "placeto";
    case ParallelMethod::go:
      return "go";
  }
  return "";
}

// The step by which the methods local and colocrl compare plans.
enum class ParallelReward : std::uint8_t {
  simulated,
  measured,  // parts of the plan are run on this machine, a thread for each device
};
// Returns "simulated" or "measured".
constexpr const char* to_string(ParallelReward reward) { return reward == ParallelReward::simulated ? "simulated" : "measured"; }

// Why a search of a plan ended.
enum class ParallelStop : std::uint8_t {
  steps,       // ParallelizeOptions::steps
  time_limit,  // ParallelizeOptions::budget
  cancelled,   // CancellationToken::finish()
  finished,    // nothing can be split, or there is one device; for the throughput, the methods have ended
  optimal,     // the step, or the largest load of a pipeline, meets the bound
};
// Returns the reason, for people.
constexpr const char* to_string(ParallelStop stop) {
  switch (stop) {
    case ParallelStop::steps:
      return "steps";
    case ParallelStop::time_limit:
      return "time limit";
    case ParallelStop::cancelled:
      return "cancelled";
    case ParallelStop::finished:
      return "finished";
    case ParallelStop::optimal:
      return "optimal";
  }
  return "";
}

// The options of parallelize.
struct ParallelizeOptions {
  // A cluster that is built in (cluster_names()), or a file (docs/cluster.schema.json).
  std::string cluster;
  std::optional<std::uint32_t> devices;                      // only so many of its devices, the first ones
  ParallelObjective objective = ParallelObjective::latency;  // what is made small
  ParallelMethod method = ParallelMethod::automatic;         // how the plan is found; others than automatic not for the throughput
  ParallelReward reward = ParallelReward::simulated;         // measured: for the methods local and colocrl, and the latency
  // Time limit. It stops the sequence of proposals that the seed determines.
  Seconds budget{10};
  // Number of proposals, or of placements that a policy draws. Without a time limit that stops earlier,
  // plans depend on the model, the cluster, the seed and this number only.
  std::optional<std::uint64_t> steps;
  std::uint64_t seed = 1;  // of the proposals
  // Threads of colocrl, by itself or within automatic, which has a use for two; 0 means one for each
  // processor. The same steps give the same plan with any number.
  std::size_t threads = 0;
  // Whether the model is also rewritten by proved rules where its plan then has a shorter step. A third of
  // the budget goes to plans of the model as it is, a third to rewrites, and a third to plans of the
  // rewritten model; `steps` counts proposals of each of the two plans. Not for the throughput.
  bool rewrite = false;
  // File of a policy (train_policy() of <xflow/train_policy.h>) or a shipped one, which then places whole
  // nodes, and whether a local search improves what it finds: one for the max load ("shipped:max-load") for
  // the throughput, and one for the step ("shipped:step", "shipped:go") for other objectives, whose method
  // must be automatic or that of the policy. Empty: methods search.
  std::string policy;
  bool search_after = false;  // see policy
  // Sizes of dynamic inputs. By default an unknown first dimension is 1 and any other 128, and the result
  // says so.
  std::vector<InputShape> shapes;
  std::vector<std::string> allow_external;  // as InputOptions::allow_external
  // File of measured costs, for devices of the cluster that are this CPU. Empty: they are kept in memory.
  std::string cost_database;
  // File to which the model is written with the plan as a multi-device configuration of ONNX
  // (docs/multi-device.md), with the name of the cluster. Then all parts are equal, since ONNX has no
  // others. "-" is standard output. Empty: nothing is written.
  std::string out_model;
  // Folder to which a model for each device and stage of the plan is written, with a manifest: what
  // run_parts() and `xflow run` take (docs/run-plan.md). It must be empty or not exist. Nodes that are not
  // known, and nodes with bodies, are written as they are. Empty: nothing is written.
  std::string out_parts;
  std::function<void(const std::string&)> warning;  // null: warnings are dropped
  // Called now and then: number of proposals, best step so far. Not for the throughput.
  std::function<void(std::uint64_t, Seconds)> progress;
  CancellationToken cancel;  // finish() ends the call with the best plan so far
};

// How a dimension, or the terms of a reduction, are divided.
struct PlannedSplit {
  // Dimension of the first result. -1: terms whose results are added, such as those of a matrix product,
  // convolution or mean. -2: nothing; each of these devices computes the same. -3: operands of a maximum.
  // -4: operands of a minimum.
  int axis = 0;
  std::size_t parts = 1;   // number of parts, at least 2
  std::size_t stride = 1;  // from the device of a part to that of the next one; 0: micro-batches, one by one on a device
};

// A node of the model and its parts. Parts are numbered in row-major order, the first split outermost.
struct ParallelNode {
  std::string name;                  // empty: `number` counts
  std::size_t number = 0;            // in the order of the file
  std::string operator_name;         // "Conv"
  std::vector<PlannedSplit> splits;  // none: one device has it whole
  std::vector<std::size_t> devices;  // of its parts but for micro-batches: numbers in SimulationResult::devices
};

// What is known of a pipeline.
struct PlannedPipeline {
  Seconds load{};   // the largest load of a device: the time between two samples
  Seconds bound{};  // no placement of whole nodes has a smaller one

  // load / bound - 1; 0 if both are 0.
  double gap() const { return load > bound ? load / bound - 1 : 0; }
};

// What rewrites did for a plan.
struct ParallelRewrites {
  std::vector<std::pair<std::string, std::size_t>> rules;  // their names and numbers of rewrites; none: the model stays as it is
  Seconds step_before{};                                   // the step of the best plan of the model as it is
  std::uint64_t graphs = 0;                                // that were planned to find them
  // The step of the graph that is fastest on the first device alone, planned as briefly as other graphs, and
  // of the original, in the same way.
  Seconds brief_optimised{};
  Seconds brief_before{};  // see brief_optimised
  std::string refused;     // why a graph with a shorter step is not used; empty if there is none
};

// A plan, and its simulated step.
struct ParallelizeResult {
  ParallelObjective objective = ParallelObjective::latency;  // what was made small
  ParallelMethod method = ParallelMethod::automatic;         // ParallelizeOptions::method
  std::string start;                                         // the start plan from which the plan was found
  std::vector<std::pair<std::string, Seconds>> starts;       // start plans with their steps
  // Number of pipelines that were not tried as start plans, since half of the time limit was over.
  std::size_t untried_starts = 0;
  std::vector<ParallelNode> nodes;  // in the order of the file
  // No plan for this model, cluster and objective has a shorter step; known if all devices have a roofline.
  // For the throughput see `pipeline`.
  std::optional<Seconds> bound;
  std::optional<PlannedPipeline> pipeline;   // of the objective throughput
  std::optional<ParallelRewrites> rewrites;  // of ParallelizeOptions::rewrite; then `nodes` are those of the rewritten model
  // Of ParallelReward::measured: the median step of the plan as it ran. `starts` are measured then, too.
  std::optional<Seconds> measured;
  std::size_t measured_plans = 0;  // number of plans that were run
  // Of the methods local and colocrl: the number of groups of operators that were placed, and of proposals
  // up to the best plan; 0 if a start plan is the best one.
  std::size_t groups = 0;
  std::uint64_t best_after = 0;                // see groups
  std::uint64_t proposals = 0;                 // made by the search
  std::uint64_t accepted = 0;                  // of them
  std::uint64_t seed = 1;                      // ParallelizeOptions::seed
  ParallelStop stop = ParallelStop::finished;  // why the search ended
  std::size_t claims = 0;                      // on splits of operators, that the verifier decided
  std::size_t proved = 0;                      // of them
  // The step of the plan. Its tasks are parts; `nodes` is empty.
  SimulationResult simulation;

  // The step / bound - 1; nothing if the bound is not known or 0.
  std::optional<double> gap() const {
    if (!bound || bound->count() <= 0) return std::nullopt;
    return simulation.step > *bound ? simulation.step / *bound - 1 : 0;
  }

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/parallelize-result.schema.json).
  XFLOW_API std::string to_json() const;
};

// Searches how to split the operators of the model in the file `model` over the devices of a cluster. Every
// split that a plan has is proved. The plan is at least as good as each start plan, by the simulated or the
// measured step. Runs in one thread; plans whose step is measured run in a thread for each device.
//
// Errors: as simulate(); limit, "cancelled"; invalid_argument for options that do not go together, for a
// policy of another objective, and for measured steps on other devices than CPUs of this machine; those of
// run_parts() for measured steps; unreadable for a file that is no policy; those of
// write_plan_model for the model that is written; unsupported for a tensor between parts whose type is
// unknown, with its name.
XFLOW_API Result<ParallelizeResult> parallelize(const std::string& model, const ParallelizeOptions& options);

}  // namespace xflow
