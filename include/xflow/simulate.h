// Simulates one inference step of a model on several devices (docs/parallel.md, *Simulate a model*).
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

// Which device each node has, if there is no plan.
enum class PlanPolicy : std::uint8_t {
  single,       // all nodes on the first device
  round_robin,  // nodes over the devices by turns
  chain,        // one part of consecutive nodes for each device, with about equal shares of the time
};
// Returns the name of a policy: "round-robin".
constexpr const char* to_string(PlanPolicy policy) {
  switch (policy) {
    case PlanPolicy::single:
      return "single";
    case PlanPolicy::round_robin:
      return "round-robin";
    case PlanPolicy::chain:
      return "chain";
  }
  return "";
}

// The options of simulate.
struct SimulateOptions {
  // A cluster that is built in (cluster_names()), or a file (docs/cluster.schema.json).
  std::string cluster;
  // File of a plan (docs/plan.schema.json). Empty: `policy`.
  std::string plan;
  // Which device each node has without a plan. Nothing: what the multi-device configuration of the model
  // says (docs/multi-device.md, *Simulate a plan*), or `single` if it has none.
  std::optional<PlanPolicy> policy;
  // Sizes of dynamic inputs. By default an unknown first dimension is 1 and any other 128, and the result
  // says so.
  std::vector<InputShape> shapes;
  std::vector<std::string> allow_external;  // as InputOptions::allow_external
  // File of measured costs, for devices of the cluster that are this CPU. Empty: they are kept in memory.
  std::string cost_database;
  std::function<void(const std::string&)> warning;  // null: warnings are dropped
};

// A device of the cluster, and what it did in the step.
struct SimulatedDevice {
  std::string name;        // as in the cluster
  std::string kind;        // what the cluster calls such a device
  std::uint32_t host = 0;  // number of its host
  std::size_t nodes = 0;   // number of nodes that ran on it
  Seconds busy{};          // time in which it computes
  double resident = 0;     // bytes of the constants of its nodes
  double peak = 0;         // bytes: `resident`, and the most that tensors need at one time
  double memory = 0;       // bytes that it has

  // Bytes that it lacks; 0 if it holds what it needs.
  double missing() const { return peak > memory ? peak - memory : 0; }
};

// Transfers of a directed pair of devices, which are numbers in SimulationResult::devices.
struct SimulatedLink {
  std::size_t from = 0;       // the device that sends
  std::size_t to = 0;         // the device that receives
  std::size_t transfers = 0;  // number of transfers
  double bytes = 0;           // of all transfers
  Seconds busy{};             // time in which it transfers
};

// The outgoing port of a host, which all transfers to other hosts share.
struct SimulatedPort {
  std::uint32_t host = 0;  // number of the host
  Seconds busy{};          // time in which it transfers
};

// A node or a transfer as it ran.
struct SimulatedTask {
  std::string name;          // of the node, or of the tensor
  bool is_transfer = false;  // otherwise it is a node
  std::size_t device = 0;    // that computes or receives
  std::size_t from = 0;      // that sends; for a node `device`
  Seconds start{};           // since the begin of the step
  Seconds end{};             // since the begin of the step
};

// A node of the model: its name, or its number where it has none or shares it.
struct PlannedNode {
  std::string name;           // empty: `number` counts
  std::size_t number = 0;     // in the order of the file
  std::string operator_name;  // "Conv"
  std::size_t device = 0;     // number of its device in SimulationResult::devices
};

// How many nodes a plan divides that is the configuration of a model.
struct DividedNodes {
  std::size_t running = 0;     // nodes that run
  std::size_t on_several = 0;  // those of them that several devices compute
};

// A simulated step.
struct SimulationResult {
  std::string cluster;                   // its name
  std::string plan;                      // the file, the policy, or "configuration 'pair' of the model"
  Seconds step{};                        // time of the whole step
  std::vector<SimulatedDevice> devices;  // of the cluster
  std::vector<SimulatedLink> links;      // that have transfers
  std::vector<SimulatedPort> ports;      // that have transfers
  std::vector<SimulatedTask> tasks;      // by (ready time, key) of the simulator
  std::vector<PlannedNode> nodes;        // that are tasks; none for a plan that divides nodes
  std::optional<DividedNodes> divided;   // of a plan that divides nodes
  std::size_t without_kernel = 0;        // nodes that cost nothing: constants, values of other nodes, not needed
  // Nodes whose time is an estimate from the bytes that they move, with the reason.
  std::vector<std::pair<std::string, std::string>> estimated;
  std::vector<std::string> assumed_sizes;  // "x: [1, 3, 128, 128]"

  // Whether each device holds what it needs.
  bool fits_memory() const {
    for (const SimulatedDevice& device : devices) {
      if (device.missing() > 0) return false;
    }
    return true;
  }
  // The share of the step in which something is busy; 0 for a step without time.
  double share(Seconds busy) const { return step.count() > 0 ? busy / step : 0; }

  // Several lines of text.
  XFLOW_API std::string to_text() const;
  // JSON (docs/simulate-result.schema.json). Its field "plan" is a plan; it has none if nodes are divided.
  XFLOW_API std::string to_json() const;
  // A picture of the step with a line for each device, link and port that has tasks. It has no script.
  XFLOW_API std::string to_svg() const;
  // The tasks in Chrome's trace event format, which Perfetto opens. Times are in microseconds.
  XFLOW_API std::string to_trace() const;
};

// The clusters that are built in.
XFLOW_API std::vector<std::string> cluster_names();

// Simulates one inference step of the model in the file `model`. A step that exceeds the memory of a device
// is no error (SimulationResult::fits_memory).
//
// Errors: unreadable for a file that is no model, cluster or plan, with the first fault; invalid_argument
// for shapes that the model does not have; unsupported for a model that refuses its sizes, for a device
// whose times cannot be known, for a plan without a device for a node, and for a configuration with a fault
// (check_plan) or with divisions that are no proved splits.
XFLOW_API Result<SimulationResult> simulate(const std::string& model, const SimulateOptions& options);

// Writes the model in the file `model` to the file `out`, with the devices of a step of this model as a
// multi-device configuration (docs/multi-device.md). It has the name of the cluster and replaces one of that
// name. The IR version becomes 11 if it is lower. Everything else is copied byte for byte; external data is
// handled as in docs/files.md. "-" is standard output.
//
// Errors: unreadable for a file that is no model; invalid_argument for the step of another model, and for a
// step of divided nodes; unsupported for a model of an IR version below 4; io.
XFLOW_API Result<void> write_plan_model(const std::string& model, const SimulationResult& result, const std::string& out,
                                        const std::vector<std::string>& allow_external = {});

}  // namespace xflow
