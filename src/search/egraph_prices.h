// What the operations of an e-graph cost alone, and as the last of two operations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "src/search/window_egraph.h"

namespace xflow::search {

// Prices are predicted times in nanoseconds, infinite for what cannot be priced.
class EGraphPrices {
 public:
  // By a hash of graphs of one or two operations: each is costed once for all e-graphs.
  using Known = std::unordered_map<std::uint64_t, double>;

  // `counted` is called for each graph that is costed.
  EGraphPrices(const WindowEGraph& graph, const Workspace::Follow& follow, Nanoseconds per_operation, Known& known,
               std::function<void()> counted)
      : graph_(graph), follow_(follow), per_operation_(per_operation), known_(known), counted_(std::move(counted)) {}

  double alone(ir::NodeId operation);
  // What it adds at least to one of the operations that make its operands, as one kernel with it may; at
  // most alone().
  double beside(ir::NodeId operation);

 private:
  double price(ir::NodeId operation, std::optional<ir::ValueId> before);

  const WindowEGraph& graph_;
  const Workspace::Follow& follow_;
  Nanoseconds per_operation_;
  Known& known_;
  std::function<void()> counted_;
  std::unordered_map<ir::NodeId, double> alone_;
};

}  // namespace xflow::search
