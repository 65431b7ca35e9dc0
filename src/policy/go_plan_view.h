// What GO sees of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/parallel/ordered_step.h"
#include "src/policy/go_graph.h"
#include "src/policy/matrix.h"

namespace xflow::policy {

// Consecutive nodes, in the order of the graph, that the network sees in one call.
struct GoSegment {
  std::uint32_t begin = 0;     // first node
  Matrix nodes;                // a row for each node
  Matrix devices;              // a row for each node and device
  std::vector<bool> possible;  // of these rows: the device has the memory
};

// Features of nodes and devices in a plan, from its simulation.
class GoPlanView {
 public:
  static constexpr std::uint32_t kSegment = 128;  // nodes
  static constexpr std::size_t kPlanFeatures = 9;
  static constexpr std::size_t kNodeFeatures = GoGraph::kFeatures + kPlanFeatures;
  static constexpr std::size_t kDeviceFeatures = 12;
  // Positions of features on which first weights depend.
  static constexpr std::size_t kFusedNow = GoGraph::kFeatures + 3;  // of nodes: 1 or -1, 0 without a choice
  static constexpr std::size_t kThereNow = 0;                       // of devices, as the next ones
  static constexpr std::size_t kOperandsThere = 1;
  static constexpr std::size_t kArrival = 6;  // when operands could be there, beside the begin of the node
  static constexpr std::size_t kBusy = 7;     // of the device after that
  static constexpr std::size_t kCriticalThere = 10;
  // By how much a step of a priority changes it, in seconds of mean nodes.
  static constexpr double kPriorityStep = 4;

  // The graph outlives it.
  explicit GoPlanView(const GoGraph& graph);

  const GoGraph& graph() const { return graph_; }
  std::uint32_t segments() const { return (graph_.nodes() + kSegment - 1) / kSegment; }
  // Simulates a plan, which passes check_ordered_plan, and looks at it.
  parallel::OrderedStep look(const parallel::OrderedPlan& plan);
  // Simulates another plan, which changes nothing of what is seen.
  std::optional<parallel::OrderedStep> simulate(const parallel::OrderedPlan& plan, double limit) {
    return simulator_.simulate(plan, limit);
  }

  // Of the plan that look() saw.
  const parallel::OrderedPlan& plan() const { return plan_; }
  bool is_fused(std::uint32_t node) const { return root_[node] != node; }
  GoSegment segment(std::uint32_t number) const;
  // Means of the features of nodes over the whole graph.
  const Matrix& summary() const { return summary_; }

 private:
  void find_roots();
  void look_at_times();
  void look_at_edges();
  void look_at_loads();
  void summarize();
  void describe_node(std::uint32_t node, std::span<float> row) const;
  void describe_device(std::uint32_t node, std::uint32_t device, std::span<float> row) const;
  std::size_t pair(std::uint32_t node, std::uint32_t device) const { return static_cast<std::size_t>(node) * graph_.devices() + device; }
  double busy_until(std::uint32_t device, double time) const;

  const GoGraph& graph_;
  parallel::OrderedSimulator simulator_;
  parallel::OrderedPlan plan_;
  double step_ = 0;
  std::vector<std::uint32_t> root_;
  std::vector<bool> is_critical_;
  std::vector<double> start_;
  // By node and device, of roots. Those of a task are sums over its nodes.
  std::vector<float> seconds_;
  std::vector<float> operand_bytes_;  // there
  std::vector<float> reader_bytes_;
  std::vector<double> arrival_;  // when all operands could be there
  // By root.
  std::vector<double> bytes_;
  std::vector<double> end_;
  std::vector<double> needed_;              // when the first reader begins
  std::vector<double> received_;            // seconds of transfers of operands from other devices
  std::vector<std::uint32_t> last_source_;  // root of the operand that ends last, or kNoChoice
  // By device.
  std::vector<double> loads_;
  std::vector<double> resident_;
  std::vector<double> critical_seconds_;
  double mean_load_ = 0;
  double sum_critical_ = 0;
  std::size_t buckets_ = 1;
  std::vector<double> busy_;  // seconds of tasks up to each bucket of the step and its end
  Matrix summary_;
};

}  // namespace xflow::policy
