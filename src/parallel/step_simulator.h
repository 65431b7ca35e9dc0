// Simulates the execution of a workload on a cluster, in full and after a change.
//
// Tasks: a node on its device, and a transfer of a tensor to each other device that has readers of it. A
// task is ready when the tasks that it needs have ended. Each resource runs its tasks in order of (ready
// time, key). Keys grow from a task to those that need it, so that the tasks of the whole cluster have one
// such order.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "src/parallel/cluster.h"
#include "src/parallel/workload.h"

namespace xflow::parallel {

// A task as it was run.
struct TaskRun {
  std::uint32_t key = 0;
  std::uint32_t item = 0;    // the node, or the tensor of a transfer
  std::uint32_t device = 0;  // that computes or receives
  bool is_transfer = false;
  std::uint32_t resource = 0;
  double ready = 0;
  double start = 0;
  double end = 0;
  double free_before = 0;  // when the resource became free
  double step_before = 0;  // latest end of the tasks before this one
  friend bool operator==(const TaskRun&, const TaskRun&) = default;
};

class StepSimulator {
 public:
  // Simulates in full. The workload passes check_workload, and each node has a device of the cluster. Both
  // must outlive the simulator.
  StepSimulator(const Workload& workload, const DeviceCluster& cluster, std::vector<std::uint32_t> devices);

  double step() const { return step_; }                                // seconds
  std::span<const TaskRun> runs() const { return runs_; }              // by (ready time, key)
  std::span<const std::uint32_t> devices() const { return devices_; }  // of nodes

  // Simulates in full with other devices, and returns the step's time if it is at most `limit`. Otherwise
  // returns nullopt as soon as that is known; then only simulate() may be called.
  std::optional<double> simulate(std::span<const std::uint32_t> devices, double limit = std::numeric_limits<double>::infinity());
  // Moves a node if the step then takes at most `limit`, and returns the step's time, which equals that of a
  // full simulation in every bit. Otherwise returns nullopt and nothing changes. Tasks before the first one
  // that can change stay; the simulation ends as soon as the limit is out of reach.
  std::optional<double> move(std::uint32_t node, std::uint32_t device, double limit = std::numeric_limits<double>::infinity());
  // Number of tasks that were simulated so far.
  std::uint64_t simulated() const { return simulated_; }

 private:
  struct Waiting {
    double ready = 0;
    std::uint32_t key = 0;
    std::uint32_t item = 0;
    std::uint32_t device = 0;
    bool is_transfer = false;
    friend bool operator>(const Waiting& a, const Waiting& b) { return a.ready > b.ready || (a.ready == b.ready && a.key > b.key); }
  };

  std::uint32_t node_key(std::uint32_t node) const { return node + first_tensor_[node] * cluster_.size(); }
  std::uint32_t transfer_key(std::uint32_t tensor, std::uint32_t device) const {
    return workload_.tensors[tensor].source + 1 + tensor * cluster_.size() + device;
  }
  std::uint32_t& readers(std::uint32_t tensor, std::uint32_t device) { return readers_[tensor * cluster_.size() + device]; }
  std::uint32_t source_device(std::uint32_t tensor) const { return devices_[workload_.tensors[tensor].source]; }
  bool has_transfer(std::uint32_t tensor, std::uint32_t device) { return device != source_device(tensor) && readers(tensor, device) > 0; }
  std::uint32_t resource_of(const Waiting& task) const;
  double seconds_of(const Waiting& task) const;

  std::size_t first_change(std::uint32_t node, std::uint32_t device);
  void assign(std::uint32_t node, std::uint32_t device);
  void cut(std::size_t size);
  void collect(std::uint32_t node, std::uint32_t before);
  void prepare();
  bool run(double limit);
  bool finish(const TaskRun& done, double bound);
  bool arrive(std::uint32_t node, double time, double bound);
  void restore(std::uint32_t node, std::uint32_t before, std::size_t kept);

  const Workload& workload_;
  const DeviceCluster& cluster_;
  std::vector<std::uint32_t> devices_;
  std::vector<std::uint32_t> first_tensor_;        // of a node and of those after it
  std::vector<std::vector<std::uint32_t>> reads_;  // tensors that a node reads
  std::vector<std::uint32_t> readers_;             // number for each tensor and device
  std::vector<double> tails_;                      // least time from the end of a node to that of the step

  std::vector<TaskRun> runs_;
  double step_ = 0;
  std::vector<double> free_;  // by resource
  std::vector<double> left_;  // work by resource, of tasks that have not run
  // By key.
  std::vector<double> ready_;  // of tasks that wait: as far as known
  std::vector<double> ends_;
  std::vector<std::uint32_t> pending_;
  std::vector<bool> done_;

  std::vector<TaskRun> replaced_;  // runs that a move takes away
  std::vector<Waiting> tasks_;     // that a move simulates
  std::vector<Waiting> queue_;     // a heap of ready tasks
  std::uint64_t simulated_ = 0;
};

}  // namespace xflow::parallel
