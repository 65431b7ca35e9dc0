// What a graph costs on a device: its cover by kernels, each measured once.
//
// A cover assigns each node to a region that is one kernel launch: a convolution or product with the bias, residual and activations after
// it, a chain of pointwise operators, a known composite (gelu, layer normalisation, ...), or one operator. Constants and what is computed
// from them alone cost nothing. See docs/cost.md.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/cost/database.h"
#include "src/ir/work_graph.h"
#include "src/kernels/device.h"
#include "src/support/acceptance.h"

namespace xflow::cost {

struct Cost {
  Nanoseconds time{};          // predicted time of one run: the sum of all kernels that can be measured
  std::size_t kernels = 0;     // launches
  std::size_t unmeasured = 0;  // of these, how many this device cannot run, opaque nodes included: their time is in no sum
  friend bool operator==(const Cost&, const Cost&) = default;
};

// One region of the cover, or a change of layout between regions.
struct CoveredRegion {
  std::string kernel;             // the text of the kernel
  Layout layout = Layout::plain;  // of operands that have layouts
  std::vector<ir::NodeId> nodes;  // of the graph, in order; the node whose value is converted for a change of layout
  KernelCost cost;
  Acceptance measured = {};  // else why it was not
};

// A launch of the cover with the values that it reads and makes, for a plan (src/runtime/plan.h). Constants are read as well.
struct CoveredLaunch {
  // In the order in which it was measured. The kernel "reorder" changes the layout of a value; "none" launches nothing: what a node makes
  // that only sees its operand in another way, or that sizes alone decide.
  ops::KernelSpec spec;
  Layout operand_layout = Layout::plain;
  Layout result_layout = Layout::plain;
  std::vector<ir::ValueId> operands;  // of the spec, those of post-operations after
  std::vector<Layout> layouts;        // in which it wants each of them
  std::vector<ir::ValueId> results;
  std::vector<ir::NodeId> nodes;  // that it computes; none for a reorder
  KernelCost cost;
  Acceptance supported = {};  // else why nothing can be launched; then there is no spec
};

struct CostStatistics {
  std::size_t measured = 0;           // kernels timed by this model for the first time
  std::size_t known = 0;              // kernels found in the database
  std::size_t with_interference = 0;  // of both, how many were provisional (see is_provisional) when they were first asked for
  std::size_t again = 0;              // of these, how many were timed again
  std::size_t provisional = 0;        // of these, how many are provisional still
  std::size_t refused = 0;            // of both, how many the device cannot run
  std::size_t failed = 0;             // of these, how many only because time was over, memory was short or the device was lost
  std::string failure;                // what the first of these was told
  std::size_t samples = 0;            // of timing, and how many of them were outliers (see KernelCost)
  std::size_t outliers = 0;
  double measured_seconds = 0;  // wall clock spent timing
  double again_seconds = 0;     // of this, for timing again
};

class IncrementalCost;

// Costs graphs of one arena on one device at one set of sizes. Kernels and regions are remembered. Deterministic given the database.
class CostModel {
 public:
  // `sizes` gives the size of each symbolic dimension; all three must outlive the model.
  CostModel(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes);
  ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // Kernels that the device cannot run, and nodes whose sizes are not known, are counted, not failed.
  Result<Cost> cost(const ir::Graph& graph);
  // The same, for a search: follows a graph that changes in place. Comparable with how it is now is what has no kernel that the device
  // cannot run and that it does not have as often now. What cannot be measured must not look free. The model must outlive the result.
  std::unique_ptr<IncrementalCost> follow(const ir::WorkGraph& graph);

  // The cover itself, in the order in which it would run.
  Result<std::vector<CoveredRegion>> explain(const ir::Graph& graph);

  // What timing provisional kernels again may take in all; nothing before this is called.
  void allow_again(double seconds);
  // Times kernels again that were timed under interference, while it is calmer: first those by which the covers of the graphs differ,
  // each once whatever the time, then others. True if a cost changed: then what this model told before is outdated, and it is to forget
  // that before another graph is costed.
  bool measure_again(std::span<const ir::Graph> graphs);
  // Everything but what kernels cost. No graph may be followed meanwhile.
  void forget();
  // The same as what there is to run.
  Result<std::vector<CoveredLaunch>> launches(const ir::Graph& graph);

  // Called with the text of each kernel before it is timed.
  void on_measure(std::function<void(const std::string&)> callback);
  const CostStatistics& statistics() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::cost
