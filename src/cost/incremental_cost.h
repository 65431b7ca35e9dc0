// The cost of a graph that changes in place: known after each change by what changed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/ir/work_graph.h"
#include "src/kernels/device.h"

namespace xflow::cost {

// Time in units of 1/1024 ns. Sums of integers do not depend on their order, so a cost found by difference equals one found from scratch.
enum class Ticks : std::int64_t {};
inline Ticks ticks_of(Nanoseconds time) { return static_cast<Ticks>(std::llround(time.count() * 1024)); }
inline Nanoseconds nanoseconds(Ticks ticks) { return Nanoseconds(static_cast<double>(ticks) / 1024); }
inline Ticks operator+(Ticks a, Ticks b) { return static_cast<Ticks>(static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b)); }
inline Ticks operator-(Ticks a, Ticks b) { return static_cast<Ticks>(static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b)); }

// Follows one WorkGraph.
class IncrementalCost {
 public:
  IncrementalCost() = default;
  virtual ~IncrementalCost() = default;
  IncrementalCost(const IncrementalCost&) = delete;
  IncrementalCost& operator=(const IncrementalCost&) = delete;

  // To be called after the graph was changed, with what changed.
  virtual void update(std::span<const ir::WorkGraph::Change> changes) = 0;
  // The time of one run of the graph as it was at the last update().
  virtual Ticks time() const = 0;
  // Whether it may be compared with the graph that this began with: nothing in it that could not be costed and was not there before.
  virtual bool comparable() const = 0;

  // A moment to which undo() returns, in the reverse order of the marks; the graph is undone with it.
  virtual std::size_t mark() = 0;
  virtual void undo(std::size_t mark) = 0;
  // The nodes that the last update() read: while nothing changes at these, the same change of the graph costs the same.
  virtual std::span<const ir::NodeId> footprint() const = 0;
  // The nodes of which something else is known than at a mark. A node may be named twice.
  virtual std::vector<ir::NodeId> changed(std::size_t mark) const = 0;
};

}  // namespace xflow::cost
