// Plans a step of a graph on a cluster: the device of each node, the order of the nodes on each device, and
// which nodes are fused (docs/parallel.md, *Planned orders and fusions*).
//
// The graph is an instance as for place() (docs/parallel-instance.schema.json), which may name nodes that
// can be fused into their only reader. All devices of the cluster take the times of its accelerators.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/place.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// How the plan of a step is found.
enum class StepMethod : std::uint8_t {
  // `local`; for at least 10,000 nodes and a time of at least 0.1 ms a node the shipped policy "shipped:go"
  // and, in half of the time, a local search after it
  automatic,
  heft,       // no search: nodes by falling rank, each on the device where it ends first
  local,      // simulated annealing from the better one of `heft` and one device
  intervals,  // the same from intervals of an order of all nodes, one for each device
  policy,     // a learned policy of the method go (PlaceStepOptions::policy), from `heft`
};
// Returns the name of a method: "auto", "heft".
constexpr const char* to_string(StepMethod method) {
  switch (method) {
    case StepMethod::automatic:
      return "auto";
    case StepMethod::heft:
      return "heft";
    case StepMethod::local:
      return "local";
    case StepMethod::intervals:
      return "intervals";
    case StepMethod::policy:
      return "policy";
  }
  return "";
}

// The options of place_step.
struct PlaceStepOptions {
  // A cluster that is built in (cluster_names()), or a file (docs/cluster.schema.json).
  std::string cluster = "dgx-h100";
  StepMethod method = StepMethod::automatic;  // how the plan is found; `policy` needs the file of one
  bool fuses = true;                          // otherwise no nodes are fused
  // Time limit. It stops the sequence of plans that the seed determines.
  Seconds budget{10};
  // Number of plans that are simulated. Without a time limit that stops earlier, results depend on the
  // instance, the cluster, the method, the seed and this number only.
  std::optional<std::uint64_t> steps;
  std::uint64_t seed = 1;  // of the search
  // File of a policy (train_policy() of <xflow/train_policy.h>) or "shipped:go"; the method must be
  // `automatic` or `policy`.
  std::string policy;
  // Whether a local search has half of the time and of the steps, from what the policy finds.
  bool search_after = false;
  // finish() ends the call with the best plan so far; stop() with ErrorCode::limit, "cancelled".
  CancellationToken cancel;
};

// A device and its nodes.
struct StepDevice {
  std::string name;                 // in the cluster
  Milliseconds busy{};              // time of its nodes
  double bytes = 0;                 // sum of the sizes of its nodes
  double memory = 0;                // bytes that it has
  std::vector<std::int64_t> nodes;  // ids in the order in which they begin; fused ones directly before their reader
};

// A node that is fused into another one.
struct StepFusion {
  std::int64_t node = 0;  // ids
  std::int64_t into = 0;  // its only reader
};

// A plan of a step, and how good it is.
struct PlacedStep {
  std::string cluster;                           // its name
  Milliseconds value{};                          // the step, simulated
  Milliseconds bound{};                          // no plan has a shorter step
  StepMethod method = StepMethod::heft;          // the method that found the plan
  std::string policy;                            // of the method `policy`: PlaceStepOptions::policy, or a shipped one
  PlacementStop stop = PlacementStop::finished;  // why the search ended
  std::uint64_t seed = 0;                        // PlaceStepOptions::seed
  std::uint64_t steps = 0;                       // plans that were simulated
  std::vector<StepDevice> devices;               // those of the cluster; some may be empty
  std::vector<StepFusion> fusions;               // in the order of the instance
  std::size_t choices = 0;                       // nodes that could be fused

  // value / bound - 1; 0 if both are 0.
  double gap() const { return value > bound ? value / bound - 1 : 0; }
  // Bytes that the devices lack, in all.
  double missing() const;

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/placed-step.schema.json).
  XFLOW_API std::string to_json() const;
};

inline double PlacedStep::missing() const {
  double missing = 0;
  for (const StepDevice& device : devices) missing += device.bytes > device.memory ? device.bytes - device.memory : 0;
  return missing;
}

// Searches a plan of the step of an instance. A plan that lacks fewer bytes of memory is better than any
// that lacks more. Runs in one thread.
//
// Errors: unreadable for a document that is no instance, with the first fault and its node, edge or fusion,
// for a cluster that is none, and for a file that is no policy of the method go; unsupported for nodes that
// read each other and for a class of several nodes; invalid_argument for a method that does not go with a
// policy, and for the method `policy` without one; limit, "cancelled".
XFLOW_API Result<PlacedStep> place_step(std::string_view instance, const PlaceStepOptions& options = {});
// The same for a file. Errors: also unreadable for a missing file.
XFLOW_API Result<PlacedStep> place_step_file(const std::string& path, const PlaceStepOptions& options = {});

}  // namespace xflow
