// Places the nodes of a graph on accelerators and CPUs (docs/parallel.md).
//
// An instance is a JSON document (docs/parallel-instance.schema.json): nodes with a time on a CPU and on an
// accelerator, edges with the time to move the source's output between an accelerator and main memory, and
// the number of devices. The format is that of Tarnawski et al., Efficient Algorithms for Device Placement
// of DNN Graph Operators, NeurIPS 2020.
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/time.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// Times of an instance.
using Milliseconds = std::chrono::duration<double, std::milli>;

// What a placement makes small.
enum class PlacementObjective : std::uint8_t {
  max_load,  // the largest load of a device: the time of one sample in a full pipeline
  latency,   // the time of one sample, where the part of an accelerator is one task
};
// Returns "max-load" or "latency".
constexpr const char* to_string(PlacementObjective objective) { return objective == PlacementObjective::max_load ? "max-load" : "latency"; }

// How a placement is found.
enum class PlacementMethod : std::uint8_t {
  automatic,  // all methods for the objective, one after the other
  orders,     // max load: dynamic program over intervals of random topological orders
  ideals,     // max load: dynamic program over ideals; its result is the best contiguous placement
  local,      // simulated annealing from the best start
  greedy,     // latency: accelerators are filled in topological order
  list,       // latency: each group goes to the device where it ends first
  milp,       // max load: mixed integer programs, solved by COIN-OR Cbc
  split,      // no search: the value of a given split
  policy,     // no search: a learned policy (PlaceOptions::policy)
};
// Returns the name of a method: "auto", "orders".
constexpr const char* to_string(PlacementMethod method) {
  switch (method) {
    case PlacementMethod::automatic:
      return "auto";
    case PlacementMethod::orders:
      return "orders";
    case PlacementMethod::ideals:
      return "ideals";
    case PlacementMethod::local:
      return "local";
    case PlacementMethod::greedy:
      return "greedy";
    case PlacementMethod::list:
      return "list";
    case PlacementMethod::milp:
      return "milp";
    case PlacementMethod::split:
      return "split";
    case PlacementMethod::policy:
      return "policy";
  }
  return "";
}

// Why a search for a placement ended.
enum class PlacementStop : std::uint8_t {
  optimal,     // the value meets the bound
  finished,    // the method has nothing left to do
  steps,       // PlaceOptions::steps
  time_limit,  // PlaceOptions::budget
  cancelled,   // CancellationToken::finish()
};
// Returns the reason, for people.
constexpr const char* to_string(PlacementStop stop) {
  switch (stop) {
    case PlacementStop::optimal:
      return "optimal";
    case PlacementStop::finished:
      return "finished";
    case PlacementStop::steps:
      return "steps";
    case PlacementStop::time_limit:
      return "time limit";
    case PlacementStop::cancelled:
      return "cancelled";
  }
  return "";
}

// Lower bounds of all placements. The strongest is reported.
enum class PlacementBound : std::uint8_t {
  group,         // max load: a group of nodes that must be together, on its faster device
  work,          // max load: all work, divided at will over all devices
  packing,       // max load: heavy groups stay whole, the others are divided at will
  star,          // max load: the device of a group has at least its cheapest surroundings (a minimum cut)
  prices,        // max load: no accelerator holds groups of a price that one of them has to hold (a MILP)
  milp,          // max load: a mixed integer program over groups and devices
  longest_path,  // latency: each node of a path on its faster device
};
// Returns the name of a bound, for people.
constexpr const char* to_string(PlacementBound bound) {
  switch (bound) {
    case PlacementBound::group:
      return "group";
    case PlacementBound::work:
      return "work";
    case PlacementBound::packing:
      return "packing";
    case PlacementBound::star:
      return "star";
    case PlacementBound::prices:
      return "prices";
    case PlacementBound::milp:
      return "milp";
    case PlacementBound::longest_path:
      return "longest path";
  }
  return "";
}

// The options of place.
struct PlaceOptions {
  PlacementObjective objective = PlacementObjective::max_load;  // what is made small
  PlacementMethod method = PlacementMethod::automatic;          // how the placement is found
  // Time limit. It stops the sequence of steps that the seed determines.
  Seconds budget{10};
  // Number of steps; a step is a proposal of the local search, a pair of ideals, an interval of an order,
  // eight rows of an iteration of the simplex method, or a device that a policy weighs for a group.
  // Without a time limit that stops earlier, results depend on the instance, the method, the seed and this
  // number only.
  std::optional<std::uint64_t> steps;
  std::uint64_t seed = 1;  // of random orders and steps
  // File of a policy (train_policy() of <xflow/train_policy.h>), or a shipped one ("shipped:max-load",
  // "shipped:latency"), which then places the nodes; the method must be `automatic`. Empty: methods search.
  std::string policy;
  // Whether a local search improves what the policy finds, in what is left of the budget and the steps.
  bool search_after = false;
  // finish() ends the call with the best placement so far; stop() with ErrorCode::limit, "cancelled".
  CancellationToken cancel;
};

// A device and its nodes.
struct PlacedDevice {
  bool is_accelerator = true;       // otherwise it is a CPU
  Milliseconds load{};              // compute, and for an accelerator transfers in and out
  double bytes = 0;                 // sum of the sizes of its nodes
  std::vector<std::int64_t> nodes;  // ids, in the order of the instance
};

// A placement, and how good it is.
struct PlacementResult {
  PlacementObjective objective = PlacementObjective::max_load;  // what was made small
  Milliseconds value{};                                         // of the objective, for this placement
  Milliseconds bound{};                                         // no placement has a smaller value
  PlacementBound bound_by = PlacementBound::work;               // the kind of the bound
  // Best value of contiguous placements: no forward path leaves a device and returns. Known after the
  // method `ideals` has ended.
  std::optional<Milliseconds> contiguous;
  PlacementMethod method = PlacementMethod::split;  // the method that found the placement
  PlacementStop stop = PlacementStop::finished;     // why the search ended
  std::uint64_t seed = 0;                           // PlaceOptions::seed
  std::uint64_t steps = 0;                          // steps made
  double memory = 0;                                // bytes of one accelerator
  std::vector<PlacedDevice> devices;                // those of the instance: first accelerators, then CPUs; some may be empty

  // value / bound - 1; 0 if both are 0.
  double gap() const { return value.count() > bound.count() ? value.count() / bound.count() - 1 : 0; }
  // Whether each accelerator holds its nodes. A searched placement always fits; a given split may not.
  bool fits_memory() const;

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/parallel-result.schema.json).
  XFLOW_API std::string to_json() const;
};

inline bool PlacementResult::fits_memory() const {
  for (const PlacedDevice& device : devices) {
    if (device.is_accelerator && device.bytes > memory) return false;
  }
  return true;
}

// Searches a placement of the nodes of an instance. Runs in one thread.
//
// Errors: unreadable for a document that is no instance, with the first fault and its node or edge;
// unsupported for nodes that no device can hold, for a latency of backward nodes, for `list` without a CPU,
// for `ideals` with more ideals than fit, and for `milp` in a build without Cbc (docs/building.md);
// invalid_argument for a method that the objective or a policy does not have, and for a policy of another
// objective; unreadable for a file that is no policy; limit if no placement within the memory
// was found, or "cancelled".
XFLOW_API Result<PlacementResult> place(std::string_view instance, const PlaceOptions& options = {});
// The same for a file. Errors: also unreadable for a missing file.
XFLOW_API Result<PlacementResult> place_file(const std::string& path, const PlaceOptions& options = {});

// The value of a split of an instance; both are JSON documents. A split has arrays `cpus` and `fpgas` of
// objects with the ids of their `nodes`. A node that the split does not name goes with its colour class. For
// the latency, a part that a path leaves and enters again is divided into tasks.
//
// Errors: as place(); unreadable for a split with unknown, repeated or missing nodes, a class on two
// devices, or more devices than the instance.
XFLOW_API Result<PlacementResult> evaluate_split(std::string_view instance, std::string_view split, PlacementObjective objective);
// The same for two files. Errors: also unreadable for a missing file.
XFLOW_API Result<PlacementResult> evaluate_split_files(const std::string& instance, const std::string& split, PlacementObjective objective);

}  // namespace xflow
