// The cost of a graph on a device: its kernel cover, with each kernel measured once.
//
// A kernel cover assigns each node to one kernel launch: a convolution or product with the bias, residual
// and activations after it, a chain of pointwise operators, a known composite (gelu, layer normalisation,
// ...), or one operator. Constants and expressions of constants cost nothing. See docs/cost.md.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/cost/database.h"
#include "src/ir/work_graph.h"
#include "src/kernels/device.h"
#include "src/support/acceptance.h"

namespace xflow::cost {

// The predicted cost of a graph.
struct Cost {
  Nanoseconds time{};          // predicted time of one run: the sum over the kernels that can be measured
  std::size_t kernels = 0;     // launches
  std::size_t unmeasured = 0;  // launches that this device cannot run (not in `time`); includes opaque nodes
  friend bool operator==(const Cost&, const Cost&) = default;
};

// One kernel of the cover, or a change of layout between kernels.
struct CoveredRegion {
  std::string kernel;             // the text of the kernel
  Layout layout = Layout::plain;  // of operands that have layouts
  std::vector<ir::NodeId> nodes;  // in graph order; for a change of layout the node whose value is converted
  KernelCost cost;
  Acceptance measured = {};  // or the reason why it could not be measured
};

// A launch of the cover with the values that it reads and writes, for a plan (src/runtime/plan.h). Its
// operands include constants.
struct CoveredLaunch {
  // With operands in the order of the measured kernel. The kernel "reorder" changes the layout of a value.
  // "none" launches nothing: the results are views of the operand (a reshape, or a split as in
  // view_support.h), or depend on sizes alone.
  ops::KernelSpec spec;
  Layout operand_layout = Layout::plain;
  Layout result_layout = Layout::plain;
  std::vector<ir::ValueId> operands;  // the spec's own operands, then those of post-operations
  std::vector<Layout> layouts;        // the layout in which the kernel reads each operand
  std::vector<ir::ValueId> results;
  std::vector<ir::NodeId> nodes;  // the nodes that it computes; none for a reorder
  KernelCost cost;
  Acceptance supported = {};  // or the reason why nothing can be launched; then there is no spec
};

// Counts and times of the measurements of a cost model. Provisional costs: see is_provisional.
struct CostStatistics {
  std::size_t measured = 0;           // kernels timed by this model for the first time
  std::size_t known = 0;              // kernels found in the database
  std::size_t with_interference = 0;  // measured or known kernels that were provisional at first
  std::size_t timed_again = 0;        // kernels with interference that were timed again
  std::size_t provisional = 0;        // kernels with interference that are still provisional
  std::size_t refused = 0;            // measured or known kernels that the device cannot run
  std::size_t failed = 0;             // refused kernels for lack of time or memory or a lost device
  std::string failure;                // message of the first such failure
  std::size_t left_out = 0;           // kernels with expected costs, which were not timed
  std::size_t samples = 0;            // timing samples, and how many of them were outliers (see KernelCost)
  std::size_t outliers = 0;
  double measured_seconds = 0;     // wall clock spent timing
  double remeasuring_seconds = 0;  // part of it spent timing kernels again
};

class IncrementalCost;
class KernelEstimates;

// Computes the cost of graphs of one arena on one device at one choice of sizes. Caches kernels and fused
// kernels. Deterministic for given contents of the database.
class CostModel {
 public:
  // `sizes` gives the size of each symbolic dimension. The arena, the device, the database and the estimates
  // must outlive the model. Without estimates all kernels on which a price could depend are timed; with them
  // those that can hardly change a decision are left out (docs/cost.md).
  CostModel(const ir::Arena& arena, Device& device, Database& database, ir::Symbols::Valuation sizes, KernelEstimates* estimates = nullptr);
  ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  // The cost of a graph. Kernels that the device cannot run, and nodes of unknown size, are counted and are
  // not errors.
  Result<Cost> cost(const ir::Graph& graph);
  // An incremental cost of a graph that changes in place, for a search. A later graph is comparable with the
  // present one if it has no kernel that the device cannot run more often than the present graph has it;
  // otherwise unmeasured kernels would look free. The model must outlive the result.
  std::unique_ptr<IncrementalCost> follow(const ir::WorkGraph& graph);

  // The kernels of the cover in execution order.
  Result<std::vector<CoveredRegion>> explain(const ir::Graph& graph);

  // Sets the total time for timing provisional kernels again; 0 before the first call.
  void allow_remeasuring(double seconds);
  // Times provisional kernels again where interference is lower now. It starts with the kernels by which the
  // covers of the graphs differ: each of them is timed once regardless of the time limit. Other kernels
  // follow while time is left. True if a cost changed: then earlier results of this model are outdated, and
  // forget() must be called before the next graph is costed.
  bool remeasure(std::span<const ir::Graph> graphs);
  // Kernels that were not timed have the costs that the estimates expect, and `deviations` standard
  // deviations of their errors more; earlier results are outdated, as after remeasure(). nullopt, as at
  // first: they are timed.
  void expect_costs(std::optional<double> deviations);
  // Times the kernels of the covers of the graphs that have expected costs. True if a kernel was timed: then
  // earlier results are outdated, as after remeasure().
  bool time_kernels(std::span<const ir::Graph> graphs);
  // Whether no kernel of the cover of the graph has an expected cost.
  bool is_timed(const ir::Graph& graph);
  // Whether a price would be another one if it were computed now, because a kernel in it was timed later.
  bool is_outdated() const;
  // Drops all cached data except the costs of kernels. No graph may be followed meanwhile.
  void forget();
  // The launches of the cover in execution order.
  Result<std::vector<CoveredLaunch>> launches(const ir::Graph& graph);

  // Sets a callback that receives the text of each kernel before it is timed.
  void on_measure(std::function<void(const std::string&)> callback);
  const CostStatistics& statistics() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace xflow::cost
