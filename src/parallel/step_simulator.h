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
#include <utility>
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
  friend bool operator==(const TaskRun&, const TaskRun&) = default;
};

class StepSimulator {
 public:
  // Simulates in full. The workload passes check_workload, and each node has a device of the cluster. Both
  // must outlive the simulator. With a limit it may stop as soon as the step is known to take longer; then
  // only is_within_limit() may be called.
  StepSimulator(const Workload& workload, const DeviceCluster& cluster, std::vector<std::uint32_t> devices,
                double limit = std::numeric_limits<double>::infinity());

  bool is_within_limit() const { return is_within_limit_; }

  double step() const { return step_; }                                // seconds
  std::span<const TaskRun> runs() const { return runs_; }              // by (ready time, key)
  std::span<const std::uint32_t> devices() const { return devices_; }  // of nodes

  // Simulates in full with other devices, and returns the step's time if it is at most `limit`. Otherwise
  // returns nullopt as soon as that is known; then only simulate() may be called.
  std::optional<double> simulate(std::span<const std::uint32_t> devices, double limit = std::numeric_limits<double>::infinity());
  // Moves a node if the step then takes at most `limit`, and returns the step's time, which equals that of
  // a full simulation in every bit. Otherwise returns nullopt and nothing changes. Only what the move can
  // change is simulated, and only until the limit is out of reach.
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

  // A full simulation.
  void prepare();
  bool run(double limit);
  bool finish(const TaskRun& done, double bound);
  bool arrive(std::uint32_t node, double time, double bound);

  // A move, in step_move.cpp.
  using Position = std::pair<double, std::uint32_t>;  // ready time and key
  struct MovedTask;
  struct MovedResource;
  struct ResourceRun;
  void index_runs();
  Position first_change(std::uint32_t node, std::uint32_t device);
  void assign(std::uint32_t node, std::uint32_t device);
  bool is_done(std::uint32_t key) const;
  double end_of(std::uint32_t key) const { return moved_[key].done == epoch_ ? moved_[key].end : ends_[key]; }
  template <typename Body>
  void for_needed(const Waiting& task, const Body& body);
  template <typename Body>
  bool for_readers(const Waiting& task, const Body& body);
  Waiting task_of(const TaskRun& run) const { return {run.ready, run.key, run.item, run.device, run.is_transfer}; }
  MovedResource& follow(std::uint32_t resource);
  void enqueue(double ready, const Waiting& task);
  bool change_tasks(std::uint32_t node, std::uint32_t before, double bound);
  bool add_work(const Waiting& task, double sign, double bound);
  bool touch(const Waiting& task, double bound);
  bool replay(double bound);
  bool take_turn(const TaskRun& run, double bound);
  bool run_moved(const Waiting& task, std::uint32_t number, double bound);
  bool tell(const Waiting& reader, double end, bool is_changed, double bound);
  double step_of_move() const;
  void merge_runs();
  void keep_moved();

  const Workload& workload_;
  const DeviceCluster& cluster_;
  std::vector<std::uint32_t> devices_;
  std::vector<std::uint32_t> first_tensor_;        // of a node and of those after it
  std::vector<std::vector<std::uint32_t>> reads_;  // tensors that a node reads
  std::vector<std::uint32_t> readers_;             // number for each tensor and device
  std::vector<double> tails_;                      // least time from the end of a node to that of the step

  std::vector<TaskRun> runs_;
  double step_ = 0;
  bool is_within_limit_ = true;
  std::vector<double> free_;  // by resource
  std::vector<double> left_;  // work by resource, of tasks that have not run
  // By key.
  std::vector<double> ready_;  // of tasks that wait in a full simulation: as far as known
  std::vector<double> ends_;
  std::vector<std::uint32_t> pending_;
  std::vector<bool> done_;
  std::vector<Waiting> tasks_;  // all of a full simulation
  std::vector<Waiting> queue_;  // a heap of ready tasks

  // The runs by resource, for moves.
  struct ResourceRun {
    Position turn;
    double end = 0;
    double work_before = 0;  // seconds of the runs before it
  };
  bool is_indexed_ = false;
  std::vector<std::vector<ResourceRun>> on_resource_;
  std::vector<double> work_;  // seconds of all runs

  // A move; each has its own epoch. Entries of another one say nothing.
  struct MovedTask {
    std::uint32_t touched = 0;     // epoch: its run is not as it was, or may not be
    std::uint32_t done = 0;        // epoch: it was simulated
    std::uint32_t gone = 0;        // epoch: it does not exist
    std::uint32_t is_new = 0;      // epoch: it has another resource, or did not exist
    std::uint32_t touched_by = 0;  // number of the run that touched it
    std::uint32_t pending = 0;
    double ready = 0;
    double end = 0;
  };
  struct MovedResource {
    std::uint32_t epoch = 0;  // it is followed: its runs are simulated
    std::size_t first = 0;    // of its runs that are simulated
    double free = 0;
    double left = 0;  // work of tasks that have not run
  };
  std::uint32_t epoch_ = 0;
  Position now_;
  std::vector<MovedTask> moved_;  // by key
  std::vector<MovedResource> moved_resources_;
  std::vector<std::uint32_t> followed_;  // resources
  std::uint32_t waiting_ = 0;            // touched tasks that need others
  std::uint32_t open_ = 0;               // touched tasks that have not run
  std::vector<TaskRun> moved_runs_;
  std::vector<std::size_t> inserted_;  // of each of them, the position in runs_ before which it is put
  std::vector<std::size_t> removed_;   // positions in runs_
  // Runs that stay, but at another position.
  struct KeptRuns {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t size = 0;
  };
  std::vector<KeptRuns> shifted_;
  std::size_t next_ = 0;  // position in runs_ of the next turn
  std::uint64_t simulated_ = 0;
};

}  // namespace xflow::parallel
