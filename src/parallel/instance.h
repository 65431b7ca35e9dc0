// The instance of a placement, as its document has it.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::parallel {

// Times are milliseconds, sizes bytes.
struct PlacementNode {
  std::int64_t id = 0;
  double cpu_time = 0;
  double accelerator_time = 0;
  double bytes = 0;  // on an accelerator
  bool on_accelerator = true;
  bool is_backward = false;
  std::optional<std::int64_t> colour = {};  // nodes of one colour share a device
};

// Positions of nodes in PlacementInstance::nodes.
struct PlacementEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  friend bool operator==(const PlacementEdge&, const PlacementEdge&) = default;
  friend auto operator<=>(const PlacementEdge&, const PlacementEdge&) = default;
};

// A node that may be fused into its only reader (docs/parallel.md, *Planned orders and fusions*).
struct PlacementFusion {
  std::uint32_t node = 0;  // positions of nodes
  std::uint32_t into = 0;
  double saved = 0;  // milliseconds
};

struct PlacementInstance {
  std::uint32_t accelerators = 0;
  std::uint32_t cpus = 0;
  double memory = 0;  // of one accelerator
  std::vector<PlacementNode> nodes;
  std::vector<PlacementEdge> edges;           // without duplicates, ascending
  std::vector<double> output_cost;            // of each node: time to move its output; 0 without readers
  std::vector<PlacementFusion> fusions = {};  // for planned steps alone

  std::uint32_t devices() const { return accelerators + cpus; }
};

// Device of each node: accelerators first, then CPUs.
using NodeDevices = std::vector<std::uint32_t>;

// Reads an instance. `where` is for messages. Errors: unreadable, with the first fault, its line and its
// node or edge; unsupported for nodes that no device can hold.
Result<PlacementInstance> read_instance(std::string_view text, const std::string& where);

// Reads a split of the instance. Errors: unreadable.
Result<NodeDevices> read_split(std::string_view text, const PlacementInstance& instance, const std::string& where);

}  // namespace xflow::parallel
