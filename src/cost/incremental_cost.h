// The cost of a graph that changes in place, updated from the changes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/ir/work_graph.h"
#include "src/kernels/device.h"

namespace xflow::cost {

// Time in units of 1/1024 ns. Integer sums do not depend on their order, so a cost updated by differences
// equals one computed from scratch.
enum class Ticks : std::int64_t {};
inline Ticks ticks_of(Nanoseconds time) { return static_cast<Ticks>(std::llround(time.count() * 1024)); }
inline Nanoseconds nanoseconds(Ticks ticks) { return Nanoseconds(static_cast<double>(ticks) / 1024); }
inline Ticks operator+(Ticks a, Ticks b) { return static_cast<Ticks>(static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b)); }
inline Ticks operator-(Ticks a, Ticks b) { return static_cast<Ticks>(static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b)); }

// The interface of an incremental cost model that follows one WorkGraph.
class IncrementalCost {
 public:
  IncrementalCost() = default;
  virtual ~IncrementalCost() = default;
  IncrementalCost(const IncrementalCost&) = delete;
  IncrementalCost& operator=(const IncrementalCost&) = delete;

  // Must be called after each change of the graph, with the changed nodes.
  virtual void update(std::span<const ir::WorkGraph::Change> changes) = 0;
  // The time of one run of the graph as it was at the last update().
  virtual Ticks time() const = 0;
  // Whether the cost may be compared with that of the initial graph: nothing unmeasured has been added
  // since.
  virtual bool comparable() const = 0;
  // Whether all of the graph was measured.
  virtual bool complete() const { return true; }

  // The time of the kernels that compute one of the nodes, with the conversions of their values.
  virtual Ticks time_of(std::span<const ir::NodeId> nodes) const = 0;

  // Sets a mark for undo(). Marks are undone in reverse order, together with the graph.
  virtual std::size_t mark() = 0;
  virtual void undo(std::size_t mark) = 0;
  // The nodes that the last update() read. As long as they do not change, the same change of the graph has
  // the same cost.
  virtual std::span<const ir::NodeId> footprint() const = 0;
  // The nodes whose cost data changed since the mark. A node may occur twice.
  virtual std::vector<ir::NodeId> changed(std::size_t mark) const = 0;
};

}  // namespace xflow::cost
