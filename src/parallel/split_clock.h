// The time of a step of a plan that splits operators, for a search: what step_of and StepSimulator give, in
// every bit, without building a workload, and only as far as it differs from the plan before.
//
// The tasks of an operator follow from its plan and those of its neighbours. A plan that changes some
// operators keeps the tasks of all others. Up to the first time that can change, the step goes as before;
// from there it is simulated, until its time is known to be above a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/parallel/all_reduce.h"
#include "src/parallel/batch_order.h"
#include "src/parallel/cluster.h"
#include "src/parallel/deliveries.h"
#include "src/parallel/planned_operators.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

// Less is better: first the bytes of constants and gradients that devices have no memory for, then seconds.
struct PlanCost {
  double missing = 0;
  double step = 0;
  friend auto operator<=>(const PlanCost&, const PlanCost&) = default;
};
constexpr PlanCost kAnyCost{std::numeric_limits<double>::infinity(), 0};

class SplitClock {
 public:
  // The arguments must outlive the clock.
  SplitClock(SplitModel& model, const DeviceCluster& cluster, StepKind kind);

  // What a plan costs if that is at most `limit`; nullopt as soon as it is known to be more. Every operator
  // has a possible plan.
  std::optional<PlanCost> cost(const SplitPlan& plan, const PlanCost& limit = kAnyCost);
  // The plans that follow differ little from the last one, whose cost was found.
  void keep();

  // Number of tasks that were simulated so far.
  std::uint64_t simulated() const { return simulated_; }

 private:
  // Of the tasks of an operator, with all copies.
  struct Times {
    std::vector<double> forward;  // seconds
    std::vector<double> backward;
    std::vector<std::uint32_t> forward_waits;  // number of tasks and tensors
    std::vector<std::uint32_t> backward_waits;
  };
  // An operator in a plan.
  struct State {
    const PlannedOperator* planned = nullptr;
    std::shared_ptr<const Deliveries> sent;
    std::shared_ptr<const Times> times;
  };
  // An operator whose results one reads, and the number of the reader there.
  struct Maker {
    std::uint32_t op = 0;
    std::uint32_t reader = 0;
  };
  // What a task sends that follows from no operator alone: gradients of weights, and micro-batches.
  struct Extra {
    std::uint32_t task = 0;
    std::uint32_t next = kNoTask;  // of the same source
    double seconds = 0;            // of a transfer
  };
  enum class Sends : std::uint8_t { task, group, single };
  // A task of a device, or a transfer from a task to a group of readers or to a single task.
  struct Waiting {
    double ready = 0;
    std::uint64_t key = 0;
    double seconds = 0;
    std::uint32_t task = 0;
    std::uint32_t target = 0;  // of a transfer
    std::uint32_t device = 0;  // that computes or receives
    Sends kind = Sends::task;
    friend bool operator>(const Waiting& a, const Waiting& b) { return a.ready > b.ready || (a.ready == b.ready && a.key > b.key); }
  };
  // A task of the forward pass as it was run, in the order of the step. Numbers of tasks are those of the
  // operator, which stay when others change.
  struct Run {
    Waiting task;
    std::uint32_t op = 0;
    double end = 0;
  };

  void restore();
  void touch(std::uint32_t op);
  std::vector<std::uint32_t> change(const SplitPlan& plan);
  void deliver(const std::vector<std::uint32_t>& changed);
  std::optional<double> step(double limit);
  double first_change(const std::vector<std::uint32_t>& changed) const;
  Times times_of(std::uint32_t op) const;
  static const PlannedTasks& backward_of(const State& state);
  void place_tasks();
  void place(std::uint32_t op, const PlannedTasks& tasks, const std::vector<double>& seconds, const std::vector<std::uint32_t>& waits);
  void find_phases();
  void order_batches();
  double missing_bytes();
  void hold_tied(std::uint32_t position);

  // Gradients of weights.
  std::uint32_t add_task(std::uint32_t device, double seconds);
  void add_extra(std::uint32_t from, std::uint32_t to, double seconds);
  std::uint32_t collect(std::uint32_t device, const std::vector<std::uint32_t>& tasks);
  void add_updates(std::uint32_t op, const std::vector<std::uint32_t>& tasks, double count, double bytes);
  void update_weights(std::uint32_t op);
  void update_tied(std::uint32_t value);
  void add_bucket(const GradientBucket& bucket);
  void update(std::uint32_t after, double count, double bytes);
  void add_work_of_updates();

  // Work of devices, links and ports.
  void add_work(const std::vector<std::pair<std::uint32_t, double>>& work, double sign);
  void add_kernels(const State& state, double sign);
  void add_work(const State& state, double sign);
  bool exceeds(double bound) const;
  // Bounds add up in another order than times do.
  static double margin(double limit) { return limit * (1 + 1e-9); }

  template <typename Here, typename Send>
  void for_results(std::uint32_t task, const Here& here, const Send& send) const;
  template <typename Body>
  bool for_targets(std::uint32_t op, std::uint32_t target, Sends kind, const Body& body) const;
  std::uint64_t key_of(std::uint32_t task) const { return std::uint64_t{positions_.empty() ? task : positions_[task]} << 32U; }
  std::uint32_t resource_of(const Waiting& task) const;
  bool find_tails(double bound);
  bool begin(double bound);
  bool finish(const Waiting& done, double end, double bound);
  bool arrive(std::uint32_t task, double end, double bound);
  void enqueue(const Waiting& task);

  SplitModel& model_;
  const DeviceCluster& cluster_;
  const StepKind kind_;
  PlannedOperators operators_;
  DeliveryBook book_;
  std::vector<std::vector<Maker>> makers_;  // by operator; the last ones first

  // The plan, and the one that was kept, by operator.
  std::vector<State> now_;
  std::vector<State> kept_;
  std::vector<const PlannedOperator*> planned_;  // of now_
  std::vector<std::uint32_t> touched_;           // operators in which they may differ
  std::vector<bool> is_touched_;

  // All tasks: those of the forward pass, of the backward pass and of updates.
  std::vector<std::uint32_t> first_;  // by operator
  std::vector<std::uint32_t> first_backward_;
  std::uint32_t backward_begin_ = 0;
  std::uint32_t updates_begin_ = 0;
  std::vector<std::uint32_t> op_of_;  // of tasks before updates_begin_
  std::vector<std::uint32_t> devices_;
  std::vector<double> seconds_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> first_extra_;
  std::vector<std::uint32_t> last_extra_;
  std::vector<Extra> extras_;
  GradientBuckets buckets_;
  bool has_batches_ = false;
  BatchOrder order_;
  std::vector<std::uint32_t> phases_;     // by operator
  std::vector<std::uint32_t> positions_;  // of tasks in the order of their batches; empty: as they are
  std::vector<double> gradients_;         // bytes of weights' gradients, by device
  std::vector<double> resident_;
  std::vector<double> work_;  // seconds by resource
  struct TiedBytes {
    std::vector<std::uint32_t> plans;
    std::vector<std::pair<std::uint32_t, double>> held;  // device, bytes
  };
  std::vector<TiedBytes> tied_;  // by position among the tied values

  // A simulation. Before `changed_at_` all is as in the kept plan.
  double changed_at_ = 0;
  std::vector<std::uint32_t> pending_;
  std::vector<double> ready_;
  std::vector<double> tails_;  // least time from the end of a task to that of the step; empty: not known
  std::vector<Waiting> queue_;
  std::vector<double> free_;
  std::vector<double> left_;
  double step_ = 0;
  std::size_t same_runs_ = 0;  // of kept_runs_
  std::vector<Run> runs_;      // of the forward pass, after these
  std::uint64_t simulated_ = 0;

  // Of the kept plan.
  bool has_kept_ = false;
  std::vector<double> kept_kernels_;  // seconds by resource
  std::vector<double> kept_work_;     // without updates
  bool kept_has_batches_ = false;
  std::vector<Run> kept_runs_;
  std::vector<double> earliest_;  // ready time of the first task of an operator
  std::vector<std::uint32_t> kept_phases_;
  double first_gradient_ = 0;  // the first ready time of a task of the backward pass
};

}  // namespace xflow::parallel
