// Simulates a step in which a plan chooses the order of the nodes on each device, and which nodes are fused.
//
// Tasks: a node with all nodes that are fused into it, and a transfer of a tensor to each other device that
// has readers of it. A transfer is ready when the task of its source has ended, a node when its operands are
// on its device. Each device, link and port serves one task at a time, to its end. When it is free, it
// begins the ready task with the highest priority; it never waits while a task is ready. Tasks that end at
// one time all end before the next ones begin.
//
// StepSimulator (step_simulator.h) serves tasks in the order in which they become ready.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

// A node that may be fused into another one. All tensors of `node` have `into` as their only reader.
struct FusionChoice {
  std::uint32_t node = 0;
  std::uint32_t into = 0;
  double saved = 0;  // seconds less than the two nodes take one after the other
  friend bool operator==(const FusionChoice&, const FusionChoice&) = default;
};

// What is planned. The arguments of a problem outlive it.
struct OrderedProblem {
  const Workload& workload;
  const DeviceCluster& cluster;
  std::span<const FusionChoice> fusions;
};

// Nodes fused into one form an in-tree, which is one task: it runs on the device of the root with the root's
// priority, waits for all operands of its nodes, has all their bytes, and takes the sum of their seconds
// minus what the fusions save, but at least 0. Devices and priorities of the other nodes do not matter then.
struct OrderedPlan {
  std::vector<std::uint32_t> devices;  // of nodes
  // Of nodes: higher ones run first, and equal ones by their numbers. A transfer has the highest priority of
  // its readers on the device that receives; equal ones run by tensor, then by device.
  std::vector<float> priorities;
  std::vector<bool> fused;  // for each choice
  friend bool operator==(const OrderedPlan&, const OrderedPlan&) = default;
};

struct OrderedStep {
  double seconds = 0;
  double missing = 0;  // bytes of nodes that exceed the memory of their devices, summed over devices
  friend bool operator==(const OrderedStep&, const OrderedStep&) = default;
};

// Whether each choice is as described, and no node has two of them. Errors: invalid_argument with the first
// choice that is not. The workload passes check_workload.
Result<void> check_fusions(const Workload& workload, std::span<const FusionChoice> fusions);
// Whether a plan is one of the problem. Errors: invalid_argument with the first device or priority that is
// not.
Result<void> check_ordered_plan(const OrderedProblem& problem, const OrderedPlan& plan);

// Keeps its buffers from one simulation to the next. Simulations are deterministic, and take
// O(n log n) for n nodes and readers.
class OrderedSimulator {
 public:
  // The workload passes check_workload, and the fusions check_fusions.
  explicit OrderedSimulator(const OrderedProblem& problem);

  // Simulates a plan that passes check_ordered_plan. Nothing as soon as the step is known to take longer
  // than the limit: the time at which a device begins a task and all work that it still has exceed it.
  std::optional<OrderedStep> simulate(const OrderedPlan& plan, double limit = std::numeric_limits<double>::infinity());

  // Of the last simulation, which was not stopped by its limit.
  std::span<const double> starts() const { return starts_; }      // seconds, of nodes that are not fused
  std::span<const double> busy() const { return busy_; }          // seconds of tasks, by device
  std::span<const double> resident() const { return resident_; }  // bytes of nodes, by device
  // Nodes that are not fused, on a chain of tasks that ends with the step, the last one first: each task
  // begins when the next one of the chain ends, which is an operand or has the same device, link or port.
  // Transfers of the chain are left out. No step is shorter that leaves such a chain as it is.
  void find_critical_nodes(std::vector<std::uint32_t>& nodes) const;

 private:
  // Of a node; if the node is fused, only `root` counts.
  struct OrderedTask {
    std::uint32_t root = 0;
    std::uint32_t device = 0;
    std::uint32_t pending = 0;  // operands that are not there
    std::uint32_t rank = 0;     // grows with the priority
  };
  struct TaskEnd {
    double time = 0;
    std::uint32_t resource = 0;
    friend bool operator>(const TaskEnd& a, const TaskEnd& b) { return a.time > b.time || (a.time == b.time && a.resource > b.resource); }
  };
  // A ready task: the rank above, and the complement of the number below. The number of a transfer is that
  // of its tensor times the number of devices, plus the device that receives.
  using Turn = std::uint64_t;
  static constexpr std::uint32_t kNoCause = UINT32_MAX;
  struct Resource {
    bool is_free = true;
    std::uint32_t running = 0;  // number of the task
    std::uint32_t last = 0;     // the one that ended last, as in causes_, or kNoCause
    double last_end = 0;
    std::vector<Turn> ready;  // a heap
  };

  void prepare(const OrderedPlan& plan);
  double missing_bytes() const;
  std::uint32_t cause_index(std::uint32_t resource, std::uint32_t number) const {
    return resource < devices_ ? number : static_cast<std::uint32_t>(tasks_.size()) + number;
  }
  bool run(double bound);
  bool begin_next(std::uint32_t resource, double time, double bound);
  void enqueue(std::uint32_t resource, std::uint32_t rank, std::uint32_t number);
  void end_node(std::uint32_t node);
  void end_transfer(std::uint32_t number);
  void take_operand(std::uint32_t root);
  double seconds_of_transfer(std::uint32_t number) const;

  const OrderedProblem problem_;
  const std::uint32_t devices_;
  std::vector<double> seconds_;              // for each node and device
  std::vector<std::uint32_t> operands_;      // number of operands of each node
  std::vector<std::uint32_t> first_tensor_;  // of each node, and the end
  std::vector<std::uint32_t> first_reader_;  // of each tensor, and the end
  std::vector<std::uint32_t> readers_;       // of all tensors
  std::vector<std::uint32_t> choice_of_;     // of each node
  std::vector<double> saved_;                // by choice

  std::vector<OrderedTask> tasks_;    // by node
  std::vector<double> task_seconds_;  // by node; of a root, those of the task
  std::vector<double> starts_;
  std::vector<double> busy_;
  std::vector<double> resident_;
  std::vector<double> left_;  // by device: seconds of tasks that have not begun
  std::vector<Resource> resources_;
  std::vector<TaskEnd> ends_;             // a heap
  std::vector<std::uint32_t> idle_;       // resources that may begin a task
  std::vector<std::uint32_t> receivers_;  // rank of the transfer to each device, 0: none
  std::vector<std::uint32_t> received_;   // devices with a transfer
  // For each node, then each number of a transfer: the task at whose end it was ready, and from its begin on
  // the one at whose end it began.
  std::vector<std::uint32_t> causes_;
  std::uint32_t ended_ = 0;  // the task that ended last, as in causes_
  double last_end_ = 0;
};

}  // namespace xflow::parallel
