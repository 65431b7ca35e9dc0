// The simulation of SplitClock.
#include <algorithm>
#include <functional>

#include "src/parallel/split_clock.h"

namespace xflow::parallel {

// The first time at which the step may differ from that of the kept plan: when the first task becomes ready
// of operators that changed, send otherwise, or wait for others.
double SplitClock::first_change(const std::vector<std::uint32_t>& changed) const {
  if (!has_kept_ || has_batches_ != kept_has_batches_ || phases_ != kept_phases_) return 0;
  // Tasks that wait for nothing begin at once.
  const auto has_none = [](const std::vector<std::uint32_t>& waits) { return std::ranges::find(waits, 0U) != waits.end(); };
  const auto begins = [&](std::uint32_t op) { return has_none(now_[op].times->forward_waits) || has_none(now_[op].times->backward_waits); };
  if (std::ranges::any_of(touched_, begins)) return 0;
  std::vector<bool> is_other(now_.size(), false);
  double first = kind_ == StepKind::training ? first_gradient_ : std::numeric_limits<double>::infinity();
  const auto take = [&](std::uint32_t op) {
    is_other[op] = true;
    first = std::min(first, earliest_[op]);
  };
  for (const std::uint32_t op : changed) {
    take(op);
    for (const Maker& maker : makers_[op]) {
      take(maker.op);
      for (const auto& reader : book_.readers(maker.op)) take(reader.op);
    }
    for (const auto& reader : book_.readers(op)) {
      take(reader.op);
      for (const Maker& maker : makers_[reader.op]) take(maker.op);
    }
  }
  if (!has_batches_) return first;
  // Micro-batches of a phase wait for each other.
  std::vector<bool> phase_is_other(phases_.back() + 1, false);
  for (std::uint32_t op = 0; op < now_.size(); ++op)
    if (is_other[op]) phase_is_other[phases_[op]] = true;
  for (std::uint32_t op = 0; op < now_.size(); ++op)
    if (phase_is_other[phases_[op]]) first = std::min(first, earliest_[op]);
  return first;
}

// Calls here(task) for each task of the same device that waits for a task, and send(number, device, seconds,
// target, kind) for each transfer.
template <typename Here, typename Send>
void SplitClock::for_results(std::uint32_t task, const Here& here, const Send& send) const {
  const std::uint32_t device = devices_[task];
  std::uint32_t number = 0;
  const auto hop = [&](const PlannedTasks& tasks, std::uint32_t local, std::uint32_t first) {
    const PlannedTasks::Hop& own = tasks.hops[local];
    if (own.next != kNoTask) send(number++, own.next_device, own.seconds, first + own.next, Sends::single);
    if (own.own != kNoTask) here(first + own.own);
  };
  if (task < backward_begin_) {
    const std::uint32_t op = op_of_[task];
    const PlannedOperator& own = *planned_[op];
    const std::uint32_t local = task - first_[op];
    hop(own.forward, local, first_[op]);
    const Deliveries& sent = *now_[op].sent;
    const auto parts = static_cast<std::uint32_t>(own.works.size());
    const std::uint32_t part = own.forward.part_of[local];
    if (part != kNoTask) {
      for (std::uint32_t tensor = sent.first_tensor[part]; tensor < sent.first_tensor[part + 1]; ++tensor, ++number) {
        for (std::uint32_t at = sent.tensors[tensor].first; at < sent.tensors[tensor].last; ++at) {
          const Deliveries::Group& group = sent.groups[at];
          if (group.device == device)
            for_targets(op, at, Sends::group, [&](std::uint32_t to) { return here(to), true; });
          else
            send(number, group.device, group.seconds, at, Sends::group);
        }
      }
    }
    if (kind_ == StepKind::training && local < parts && !own.is_dead) here(first_backward_[op] + backward_of(now_[op]).computes[local]);
  } else if (task < updates_begin_) {
    const std::uint32_t op = op_of_[task];
    const PlannedTasks& tasks = backward_of(now_[op]);
    const std::uint32_t local = task - first_backward_[op];
    hop(tasks, local, first_backward_[op]);
    if (local >= tasks.computes[0]) {
      const std::uint32_t part = local - tasks.computes[0];
      for (const Maker& maker : makers_[op]) {
        const Deliveries& sent = *now_[maker.op].sent;
        const std::uint32_t reader = sent.first_part[maker.reader] + part;
        if (sent.first_gradient[reader] == sent.first_gradient[reader + 1]) continue;
        const PlannedTasks& targets = backward_of(now_[maker.op]);
        for (std::uint32_t at = sent.first_gradient[reader]; at < sent.first_gradient[reader + 1]; ++at) {
          const Deliveries::Gradient& gradient = sent.gradient[at];
          const std::uint32_t to = first_backward_[maker.op] + targets.meets[gradient.part];
          if (gradient.is_here)
            here(to);
          else
            send(number++, devices_[to], gradient.seconds, to, Sends::single);
        }
      }
    }
  }
  // After all others.
  number = 1U << 20U;
  for (std::uint32_t at = first_extra_[task]; at != kNoTask; at = extras_[at].next) {
    const std::uint32_t to = extras_[at].task;
    if (devices_[to] == device)
      here(to);
    else
      send(number++, devices_[to], extras_[at].seconds, to, Sends::single);
  }
}

// Calls body for each task that a transfer reaches, until it returns false.
template <typename Body>
bool SplitClock::for_targets(std::uint32_t op, std::uint32_t target, Sends kind, const Body& body) const {
  if (kind == Sends::single) return body(target);
  const Deliveries& sent = *now_[op].sent;
  const auto& readers = book_.readers(op);
  const Deliveries::Group& group = sent.groups[target];
  std::uint32_t reader = 0;
  for (std::uint32_t at = group.first; at < group.last; ++at) {
    while (sent.readers[at] >= sent.first_part[reader + 1]) ++reader;
    if (!body(first_[readers[reader].op] + sent.readers[at] - sent.first_part[reader])) return false;
  }
  return true;
}

// Finds the longest paths; false if one of them is longer than `bound`.
bool SplitClock::find_tails(double bound) {
  const auto count = static_cast<std::uint32_t>(devices_.size());
  tails_.assign(count, 0);
  std::vector<std::uint32_t> order(positions_.size());
  for (std::uint32_t task = 0; task < positions_.size(); ++task) order[positions_[task]] = task;
  for (std::uint32_t at = count; at-- > 0;) {
    const std::uint32_t task = order.empty() ? at : order[at];
    double tail = 0;
    const auto reach = [&](std::uint32_t to, double seconds) { tail = std::max(tail, seconds + seconds_[to] + tails_[to]); };
    for_results(
        task, [&](std::uint32_t to) { reach(to, 0); },
        [&](std::uint32_t, std::uint32_t, double seconds, std::uint32_t target, Sends kind) {
          for_targets(op_of_.size() > task ? op_of_[task] : 0, target, kind, [&](std::uint32_t to) { return reach(to, seconds), true; });
        });
    tails_[task] = tail;
    if (seconds_[task] + tail > bound) return false;
  }
  return true;
}

std::uint32_t SplitClock::resource_of(const Waiting& task) const {
  return task.kind == Sends::task ? task.device : cluster_.link_resource(devices_[task.task], task.device);
}

void SplitClock::enqueue(const Waiting& task) {
  // What is ready before a change is among the runs of the kept plan.
  if (task.ready < changed_at_) return;
  queue_.push_back(task);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

// False if the step is known to be longer than the bound.
bool SplitClock::arrive(std::uint32_t task, double end, double bound) {
  ready_[task] = std::max(ready_[task], end);
  if (!tails_.empty() && end + seconds_[task] + tails_[task] > bound) return false;
  if (--pending_[task] == 0) enqueue({ready_[task], key_of(task), seconds_[task], task, 0, devices_[task], Sends::task});
  return true;
}

// Tells the tasks that need a task that it has ended.
bool SplitClock::finish(const Waiting& done, double end, double bound) {
  const std::uint32_t op = done.task < op_of_.size() ? op_of_[done.task] : 0;
  if (done.kind != Sends::task) return for_targets(op, done.target, done.kind, [&](std::uint32_t to) { return arrive(to, end, bound); });
  bool is_within = true;
  for_results(
      done.task, [&](std::uint32_t to) { is_within = arrive(to, end, bound) && is_within; },
      [&](std::uint32_t number, std::uint32_t device, double seconds, std::uint32_t target, Sends kind) {
        enqueue({end, key_of(done.task) + 1 + std::uint64_t{number} * cluster_.size() + device, seconds, done.task, target, device, kind});
      });
  return is_within;
}

// Goes to the first change, as the kept plan did.
bool SplitClock::begin(double bound) {
  const auto count = static_cast<std::uint32_t>(devices_.size());
  pending_ = waits_;
  ready_.assign(count, 0);
  free_.assign(cluster_.resources(), 0);
  left_ = work_;
  queue_.clear();
  runs_.clear();
  step_ = 0;
  same_runs_ = 0;
  if (changed_at_ == 0)
    for (std::uint32_t task = 0; task < count; ++task)
      if (pending_[task] == 0) queue_.push_back({0, key_of(task), seconds_[task], task, 0, devices_[task], Sends::task});
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  for (; same_runs_ < kept_runs_.size() && kept_runs_[same_runs_].task.ready < changed_at_; ++same_runs_) {
    const Run& run = kept_runs_[same_runs_];
    Waiting task = run.task;
    task.task += first_[run.op];
    if (task.kind == Sends::single) task.target += first_[run.op];
    const std::uint32_t resource = resource_of(task);
    free_[resource] = run.end;
    left_[resource] -= task.seconds;
    step_ = std::max(step_, run.end);
    if (!finish(task, run.end, bound)) return false;
  }
  return true;
}

std::optional<double> SplitClock::step(double limit) {
  const double bound = margin(limit);
  if (exceeds(bound)) return std::nullopt;
  tails_.clear();
  if (limit < std::numeric_limits<double>::infinity() && !find_tails(bound)) return std::nullopt;
  if (!begin(bound)) return std::nullopt;
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Waiting task = queue_.back();
    queue_.pop_back();
    ++simulated_;
    const std::uint32_t resource = resource_of(task);
    const double end = std::max(task.ready, free_[resource]) + task.seconds;
    free_[resource] = end;
    left_[resource] -= task.seconds;
    step_ = std::max(step_, end);
    if (end + left_[resource] > bound) return std::nullopt;
    if (task.task < backward_begin_) {
      const std::uint32_t op = op_of_[task.task];
      runs_.push_back({task, op, end});
      runs_.back().task.task -= first_[op];
      if (task.kind == Sends::single) runs_.back().task.target -= first_[op];
    }
    if (!finish(task, end, bound)) return std::nullopt;
  }
  return step_ <= limit ? std::optional(step_) : std::nullopt;
}

void SplitClock::keep() {
  for (const std::uint32_t op : touched_) {
    kept_[op] = now_[op];
    is_touched_[op] = false;
  }
  touched_.clear();
  kept_runs_.resize(same_runs_);
  kept_runs_.insert(kept_runs_.end(), runs_.begin(), runs_.end());
  has_kept_ = true;
  kept_has_batches_ = has_batches_;
  kept_phases_ = phases_;
  for (std::uint32_t op = 0; op < now_.size(); ++op) {
    const auto begin = ready_.begin() + first_[op];
    earliest_[op] = *std::min_element(begin, begin + planned_[op]->forward.size());
  }
  work_.assign(cluster_.resources(), 0);
  for (const State& state : kept_) add_kernels(state, 1);
  kept_kernels_ = work_;
  work_.assign(cluster_.resources(), 0);
  for (const State& state : kept_) add_work(state, 1);
  kept_work_ = work_;
  first_gradient_ = std::numeric_limits<double>::infinity();
  for (std::uint32_t task = backward_begin_; task < devices_.size(); ++task) first_gradient_ = std::min(first_gradient_, ready_[task]);
}

}  // namespace xflow::parallel
