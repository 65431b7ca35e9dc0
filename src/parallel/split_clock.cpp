#include "src/parallel/split_clock.h"

#include <algorithm>
#include <set>

#include "src/parallel/tied_groups.h"

namespace xflow::parallel {

SplitClock::SplitClock(SplitModel& model, const DeviceCluster& cluster, StepKind kind)
    : model_(model),
      cluster_(cluster),
      kind_(kind),
      operators_(model, cluster),
      book_(model, cluster, operators_, kind),
      makers_(model.operators().size()),
      now_(model.operators().size()),
      kept_(model.operators().size()),
      planned_(model.operators().size()),
      is_touched_(model.operators().size(), false),
      first_(model.operators().size()),
      first_backward_(model.operators().size()),
      phases_(model.operators().size()),
      tied_(model.tied_values().size()),
      earliest_(model.operators().size()) {
  for (auto maker = static_cast<std::uint32_t>(makers_.size()); maker-- > 0;) {
    const auto& readers = book_.readers(maker);
    for (std::uint32_t k = 0; k < readers.size(); ++k) makers_[readers[k].op].push_back({maker, k});
  }
}

void SplitClock::touch(std::uint32_t op) {
  if (is_touched_[op]) return;
  is_touched_[op] = true;
  touched_.push_back(op);
}

// Back to the kept plan.
void SplitClock::restore() {
  for (const std::uint32_t op : touched_) {
    now_[op] = kept_[op];
    planned_[op] = kept_[op].planned;
    is_touched_[op] = false;
  }
  touched_.clear();
}

// Takes the plan, and returns the operators that have another one than before.
std::vector<std::uint32_t> SplitClock::change(const SplitPlan& plan) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t op = 0; op < plan.size(); ++op) {
    if (planned_[op] != nullptr && planned_[op]->plan == plan[op]) continue;
    planned_[op] = &operators_.with_plan(op, plan[op]);
    now_[op].planned = planned_[op];
    changed.push_back(op);
    touch(op);
  }
  return changed;
}

// Finds what the operators send and are sent.
void SplitClock::deliver(const std::vector<std::uint32_t>& changed) {
  std::vector<std::uint32_t> senders = changed;
  for (const std::uint32_t op : changed) {
    for (const Maker& maker : makers_[op]) {
      if (is_touched_[maker.op]) continue;
      touch(maker.op);
      senders.push_back(maker.op);
    }
  }
  for (const std::uint32_t op : senders) now_[op].sent = book_.of(op, planned_);
  for (const std::uint32_t op : senders)
    for (const auto& reader : book_.readers(op)) touch(reader.op);
}

const PlannedTasks& SplitClock::backward_of(const State& state) {
  return state.planned->is_shared && state.sent->is_partial ? state.planned->added : state.planned->backward;
}

SplitClock::Times SplitClock::times_of(std::uint32_t op) const {
  const PlannedOperator& own = *planned_[op];
  const Deliveries& sent = *now_[op].sent;
  Times made;
  made.forward = own.forward.seconds;
  made.forward_waits = own.forward.waits;
  const bool has_gradients = kind_ == StepKind::training && !own.is_dead;
  const PlannedTasks* backward = has_gradients ? &backward_of(now_[op]) : nullptr;
  if (has_gradients) {
    made.backward = backward->seconds;
    made.backward_waits = backward->waits;
  }
  std::vector<Deliveries::Join> joins;
  for (std::uint32_t part = 0; part < own.works.size() && !own.is_dead; ++part) {
    joins.clear();
    std::uint32_t& waits = made.forward_waits[own.forward.computes[part]];
    for (const Maker& maker : makers_[op]) {
      const Deliveries& from = *now_[maker.op].sent;
      const std::uint32_t number = from.first_part[maker.reader] + part;
      waits += from.waits[number];
      joins.insert(joins.end(), from.joins[number].begin(), from.joins[number].end());
    }
    std::ranges::stable_sort(joins, {}, &Deliveries::Join::read);
    for (const Deliveries::Join& join : joins) made.forward[own.forward.computes[part]] += join.seconds;
    for (const double seconds : sent.copies[part]) made.forward[own.forward.meets[part]] += seconds;
    if (!has_gradients) continue;
    // Gradients take the same copies back.
    for (const Deliveries::Join& join : joins) made.backward[backward->computes[part]] += join.seconds;
    for (const double seconds : sent.copies[part]) made.backward[backward->computes[part]] += seconds;
    ++made.backward_waits[backward->computes[part]];
    made.backward_waits[backward->meets[part]] += sent.gradients[part];
  }
  return made;
}

void SplitClock::place(std::uint32_t op, const PlannedTasks& tasks, const std::vector<double>& seconds,
                       const std::vector<std::uint32_t>& waits) {
  op_of_.insert(op_of_.end(), tasks.size(), op);
  devices_.insert(devices_.end(), tasks.devices.begin(), tasks.devices.end());
  seconds_.insert(seconds_.end(), seconds.begin(), seconds.end());
  waits_.insert(waits_.end(), waits.begin(), waits.end());
}

// Numbers the tasks of all operators.
void SplitClock::place_tasks() {
  const auto count = static_cast<std::uint32_t>(now_.size());
  op_of_.clear();
  devices_.clear();
  seconds_.clear();
  waits_.clear();
  for (std::uint32_t op = 0; op < count; ++op) {
    first_[op] = static_cast<std::uint32_t>(devices_.size());
    place(op, planned_[op]->forward, now_[op].times->forward, now_[op].times->forward_waits);
  }
  backward_begin_ = static_cast<std::uint32_t>(devices_.size());
  for (std::uint32_t op = count; op-- > 0 && kind_ == StepKind::training;) {
    first_backward_[op] = static_cast<std::uint32_t>(devices_.size());
    if (!planned_[op]->is_dead) place(op, backward_of(now_[op]), now_[op].times->backward, now_[op].times->backward_waits);
  }
  updates_begin_ = static_cast<std::uint32_t>(devices_.size());
  first_extra_.assign(updates_begin_, kNoTask);
  last_extra_.assign(updates_begin_, kNoTask);
  extras_.clear();
}

std::uint32_t SplitClock::add_task(std::uint32_t device, double seconds) {
  devices_.push_back(device);
  seconds_.push_back(seconds);
  waits_.push_back(0);
  first_extra_.push_back(kNoTask);
  last_extra_.push_back(kNoTask);
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

void SplitClock::add_extra(std::uint32_t from, std::uint32_t to, double seconds) {
  const auto made = static_cast<std::uint32_t>(extras_.size());
  extras_.push_back({to, kNoTask, seconds});
  (last_extra_[from] == kNoTask ? first_extra_[from] : extras_[last_extra_[from]].next) = made;
  last_extra_[from] = made;
  ++waits_[to];
}

// A task that waits for all of a device, where it has several.
std::uint32_t SplitClock::collect(std::uint32_t device, const std::vector<std::uint32_t>& tasks) {
  if (tasks.size() == 1) return tasks[0];
  const std::uint32_t made = add_task(device, 0);
  for (const std::uint32_t from : tasks) add_extra(from, made, 0);
  return made;
}

void SplitClock::add_updates(std::uint32_t op, const std::vector<std::uint32_t>& tasks, double count, double bytes) {
  if (tasks.size() == 1) {
    update(tasks[0], count, bytes);
    return;
  }
  std::vector<std::uint32_t> devices(tasks.size());
  std::ranges::transform(tasks, devices.begin(), [&](std::uint32_t task) { return devices_[task]; });
  if (const auto full = buckets_.add(op, std::move(devices), tasks, count, bytes)) add_bucket(*full);
}

void SplitClock::update_weights(std::uint32_t op) {
  const PlannedOperator& own = *planned_[op];
  if (own.updates.empty()) return;
  const PlannedTasks& backward = backward_of(now_[op]);
  std::vector<std::uint32_t> tasks;
  std::vector<std::uint32_t> here;
  for (const PlannedOperator::Ring& ring : own.updates) {
    tasks.clear();
    for (const auto& parts : ring.by_device) {
      here.clear();
      for (const std::uint32_t part : parts) here.push_back(first_backward_[op] + backward.computes[part]);
      tasks.push_back(collect(own.devices[parts[0]], here));
    }
    add_updates(op, tasks, ring.count, ring.bytes);
  }
}

void SplitClock::update_tied(std::uint32_t value) {
  TiedGroups groups;
  const SplitValue& own = model_.values()[value];
  for (const std::uint32_t number : own.tied) {
    const PlannedOperator& planned = *planned_[number];
    if (planned.is_dead) continue;
    const PlannedTasks& backward = backward_of(now_[number]);
    const auto& reads = model_.operators()[number].reads;
    const auto k = static_cast<std::size_t>(std::ranges::find(reads, value) - reads.begin());
    for (std::uint32_t part = 0; part < planned.works.size(); ++part) {
      const Box& box = planned.works[part]->reads[k];
      if (elements_read(own, box) > 0) add_to(groups, box, planned.copies[part], first_backward_[number] + backward.computes[part]);
    }
  }
  for (const TiedGroup& group : groups) {
    std::vector<std::uint32_t> tasks;
    for (const auto& here : nodes_by_device(group.nodes, [&](std::uint32_t task) { return devices_[task]; }))
      tasks.push_back(collect(devices_[here[0]], here));
    add_updates(own.tied[0], tasks, elements(group.box), elements(group.box) * own.element_bytes);
  }
}

// An all-reduce of gradients, then the updates.
void SplitClock::add_bucket(const GradientBucket& bucket) {
  const auto ranks = static_cast<std::uint32_t>(bucket.devices.size());
  std::vector<std::uint32_t> tasks;
  tasks.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) tasks.push_back(collect(bucket.devices[rank], bucket.nodes[rank]));
  const AllReduceStep own = all_reduce_step(cluster_, bucket.devices, bucket.bytes);
  std::vector<std::uint32_t> ends;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t device = bucket.devices[rank];
    const double latency = (own.latencies - 1) * cluster_.link(bucket.devices[(rank + ranks - 1) % ranks], device).latency;
    ends.push_back(add_task(device, latency + seconds_of_sum(model_, cluster_, device, bucket.bytes, ranks)));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t next = (rank + 1) % ranks;
    add_extra(tasks[rank], ends[next], cluster_.link(bucket.devices[rank], bucket.devices[next]).seconds(own.bytes));
    add_extra(tasks[rank], ends[rank], 0);
  }
  for (const std::uint32_t end : ends) update(end, bucket.count, bucket.bytes);
}

void SplitClock::update(std::uint32_t after, double count, double bytes) {
  const std::uint32_t device = devices_[after];
  gradients_[device] += bytes;
  add_extra(after, add_task(device, model_.update_seconds(model_.source_of(device), count)), 0);
}

void SplitClock::find_phases() {
  has_batches_ = std::ranges::any_of(planned_, [](const PlannedOperator* own) { return own->has_batches; });
  std::uint32_t phase = 0;
  for (std::uint32_t op = 0; op < now_.size(); ++op) {
    const auto waits_for_other = [&](const Maker& maker) {
      return phases_[maker.op] == phase && now_[maker.op].sent->crosses[maker.reader];
    };
    if (has_batches_ && std::ranges::any_of(makers_[op], waits_for_other)) ++phase;
    phases_[op] = phase;
  }
}

void SplitClock::order_batches() {
  order_.clear();
  positions_.clear();
  if (!has_batches_) return;
  const auto count = static_cast<std::uint32_t>(now_.size());
  std::vector<bool> has_own;
  for (std::uint32_t op = 0; op < count; ++op) {
    const PlannedTasks& tasks = planned_[op]->forward;
    has_own.assign(tasks.size(), true);
    for (std::uint32_t part = 0; part < tasks.computes.size(); ++part) {
      has_own[tasks.computes[part]] = std::ranges::any_of(makers_[op], [&](const Maker& maker) {
        const Deliveries& sent = *now_[maker.op].sent;
        return phases_[maker.op] == phases_[op] && sent.is_own[sent.first_part[maker.reader] + part];
      });
    }
    for (std::uint32_t task = 0; task < tasks.size(); ++task)
      order_.add(phases_[op], tasks.batches[task], tasks.devices[task], has_own[task]);
  }
  const std::uint32_t phases = phases_.back() + 1;
  for (std::uint32_t op = count; op-- > 0 && kind_ == StepKind::training;) {
    if (planned_[op]->is_dead) continue;
    const PlannedTasks& tasks = backward_of(now_[op]);
    const Deliveries& sent = *now_[op].sent;
    const auto& readers = book_.readers(op);
    has_own.assign(tasks.size(), true);
    for (const std::uint32_t task : tasks.meets) has_own[task] = false;
    for (std::uint32_t k = 0; k < readers.size(); ++k) {
      if (phases_[readers[k].op] != phases_[op]) continue;
      for (std::uint32_t at = sent.first_gradient[sent.first_part[k]]; at < sent.first_gradient[sent.first_part[k + 1]]; ++at)
        if (sent.gradient[at].is_own) has_own[tasks.meets[sent.gradient[at].part]] = true;
    }
    const std::uint32_t phase = 2 * phases - 1 - phases_[op];
    for (std::uint32_t task = 0; task < tasks.size(); ++task) order_.add(phase, tasks.batches[task], tasks.devices[task], has_own[task]);
  }
  for (std::size_t task = updates_begin_; task < devices_.size(); ++task) order_.add(2 * phases, BatchOrder::kLast, devices_[task], false);
  for (const auto& [from, to] : order_.edges()) add_extra(from, to, 0);
  positions_ = order_.positions();
}

// The bytes of tied weights, once for each range on a device.
void SplitClock::hold_tied(std::uint32_t position) {
  const std::uint32_t value = model_.tied_values()[position];
  const SplitValue& own = model_.values()[value];
  TiedBytes& bytes = tied_[position];
  std::vector<std::uint32_t> plans;
  plans.reserve(own.tied.size());
  for (const std::uint32_t number : own.tied) plans.push_back(planned_[number]->number);
  if (plans != bytes.plans) {
    bytes.plans = std::move(plans);
    bytes.held.clear();
    std::set<std::pair<std::uint32_t, Box>> held;
    std::set<std::uint32_t> seen;
    for (const std::uint32_t number : own.tied) {
      const PlannedOperator& planned = *planned_[number];
      if (planned.is_dead || !seen.insert(planned.number).second) continue;
      const auto& reads = model_.operators()[number].reads;
      const auto k = static_cast<std::size_t>(std::ranges::find(reads, value) - reads.begin());
      for (std::size_t part = 0; part < planned.works.size(); ++part) {
        const Box& box = planned.works[part]->reads[k];
        if (!box.empty() && held.emplace(planned.devices[part], box).second)
          bytes.held.emplace_back(planned.devices[part], elements(box) * own.element_bytes);
      }
    }
  }
  for (const auto& [device, count] : bytes.held) resident_[device] += count;
}

double SplitClock::missing_bytes() {
  resident_ = gradients_;
  for (std::uint32_t op = 0; op < now_.size(); ++op) {
    const PlannedOperator& own = *planned_[op];
    for (std::size_t part = 0; part < own.devices.size(); ++part) resident_[own.devices[part]] += own.resident[part];
    for (const auto& [device, bytes] : now_[op].sent->kept) resident_[device] += bytes;
  }
  for (std::uint32_t k = 0; k < tied_.size(); ++k) hold_tied(k);
  double missing = 0;
  for (std::size_t k = 0; k < resident_.size(); ++k) missing += std::max(0.0, resident_[k] - cluster_.devices[k].memory);
  return missing;
}

void SplitClock::add_work(const std::vector<std::pair<std::uint32_t, double>>& work, double sign) {
  for (const auto& [resource, seconds] : work) work_[resource] += sign * seconds;
}

// Kernels and all-reduces of an operator, whatever its neighbours are.
void SplitClock::add_kernels(const State& state, double sign) {
  add_work(state.planned->forward.work, sign);
  if (kind_ == StepKind::training) add_work(state.planned->backward.work, sign);
}

void SplitClock::add_work(const State& state, double sign) {
  add_work(state.planned->forward.work, sign);
  add_work(state.sent->work_forward, sign);
  if (kind_ != StepKind::training) return;
  add_work(backward_of(state).work, sign);
  add_work(state.sent->work_backward, sign);
}

void SplitClock::add_work_of_updates() {
  for (std::size_t task = updates_begin_; task < devices_.size(); ++task) work_[devices_[task]] += seconds_[task];
  for (std::uint32_t task = backward_begin_; task < devices_.size(); ++task)
    for (std::uint32_t at = first_extra_[task]; at != kNoTask; at = extras_[at].next)
      if (const std::uint32_t to = devices_[extras_[at].task]; to != devices_[task])
        work_[cluster_.link_resource(devices_[task], to)] += extras_[at].seconds;
}

// Whether a device, link or port has more work than this.
bool SplitClock::exceeds(double bound) const {
  return std::ranges::any_of(work_, [&](double seconds) { return seconds > bound; });
}

std::optional<PlanCost> SplitClock::cost(const SplitPlan& plan, const PlanCost& limit) {
  restore();
  const std::vector<std::uint32_t> changed = change(plan);
  // A plan that takes longer is not within a limit without missing bytes, whatever it lacks itself.
  const double bound = limit.missing == 0 ? margin(limit.step) : std::numeric_limits<double>::infinity();
  if (has_kept_) {
    work_ = kept_kernels_;
    for (const std::uint32_t op : changed) {
      add_kernels(kept_[op], -1);
      add_kernels(now_[op], 1);
    }
    if (exceeds(bound)) return std::nullopt;
  }
  deliver(changed);
  work_.assign(cluster_.resources(), 0);
  if (has_kept_) {
    work_ = kept_work_;
    for (const std::uint32_t op : touched_) add_work(kept_[op], -1);
  }
  for (const std::uint32_t op : touched_) add_work(now_[op], 1);
  if (exceeds(bound)) return std::nullopt;
  for (const std::uint32_t op : touched_) now_[op].times = std::make_shared<Times>(times_of(op));
  find_phases();
  place_tasks();
  gradients_.assign(cluster_.size(), 0);
  if (kind_ == StepKind::training) {
    for (auto op = static_cast<std::uint32_t>(now_.size()); op-- > 0;) update_weights(op);
    for (const std::uint32_t value : model_.tied_values()) update_tied(value);
    for (const GradientBucket& bucket : buckets_.rest()) add_bucket(bucket);
  }
  add_work_of_updates();
  order_batches();
  changed_at_ = first_change(changed);
  PlanCost found{missing_bytes(), 0};
  if (found.missing > limit.missing) return std::nullopt;
  const auto seconds = step(found.missing < limit.missing ? std::numeric_limits<double>::infinity() : limit.step);
  if (!seconds) return std::nullopt;
  found.step = *seconds;
  return found;
}

}  // namespace xflow::parallel
