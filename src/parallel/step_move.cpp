// A move of a node. Resources whose runs may change are followed: their runs are simulated in their turn,
// and those of other resources stay as they are. A run is touched when what it needs ends at another time,
// or has not ended in its turn; then the resources of the tasks that need it are followed too. Nothing of
// the step before is overwritten until the move is accepted.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "src/parallel/step_simulator.h"

namespace xflow::parallel {

// Sorts the runs of a full simulation by resource.
void StepSimulator::index_runs() {
  on_resource_.resize(free_.size());
  for (std::vector<ResourceRun>& runs : on_resource_) runs.clear();
  work_.assign(free_.size(), 0);
  moved_.resize(ends_.size());
  moved_resources_.resize(free_.size());
  for (const TaskRun& run : runs_) {
    on_resource_[run.resource].push_back({{run.ready, run.key}, run.end, work_[run.resource]});
    work_[run.resource] += seconds_of(task_of(run));
    ready_[run.key] = run.ready;
  }
  is_indexed_ = true;
}

// The first turn that a move of the node can change. Runs are ordered by (ready time, key), and so is a
// replay: it differs from the smallest pair on that only one of the two has.
StepSimulator::Position StepSimulator::first_change(std::uint32_t node, std::uint32_t device) {
  const std::uint32_t before = devices_[node];
  Position first{0, node_key(node)};
  // The node is ready at the earliest when all that it reads is computed.
  for (const std::uint32_t tensor : reads_[node]) first.first = std::max(first.first, ends_[node_key(workload_.tensors[tensor].source)]);
  for (const std::uint32_t tensor : reads_[node]) {
    const double computed = ends_[node_key(workload_.tensors[tensor].source)];
    if (has_transfer(tensor, before) && readers(tensor, before) == 1) first = std::min(first, {computed, transfer_key(tensor, before)});
    if (device != source_device(tensor) && readers(tensor, device) == 0) first = std::min(first, {computed, transfer_key(tensor, device)});
  }
  return first;
}

void StepSimulator::assign(std::uint32_t node, std::uint32_t device) {
  for (const std::uint32_t tensor : reads_[node]) {
    --readers(tensor, devices_[node]);
    ++readers(tensor, device);
  }
  devices_[node] = device;
}

// Whether a task has ended or has its turn behind it, so that its end is known.
bool StepSimulator::is_done(std::uint32_t key) const {
  const MovedTask& state = moved_[key];
  return state.done == epoch_ || (state.touched != epoch_ && Position(ready_[key], key) < now_);
}

// Calls `body` with each task that a task needs, once for each tensor that it reads.
template <typename Body>
void StepSimulator::for_needed(const Waiting& task, const Body& body) {
  const auto source = [&](std::uint32_t tensor) {
    const std::uint32_t node = workload_.tensors[tensor].source;
    return Waiting{0, node_key(node), node, devices_[node], false};
  };
  if (task.is_transfer) {
    body(source(task.item));
    return;
  }
  for (const std::uint32_t tensor : reads_[task.item]) {
    if (has_transfer(tensor, task.device))
      body(Waiting{0, transfer_key(tensor, task.device), tensor, task.device, true});
    else
      body(source(tensor));
  }
}

// Calls `body` with each task that needs a task until one call gives false. A transfer comes once for each
// of its readers.
template <typename Body>
bool StepSimulator::for_readers(const Waiting& task, const Body& body) {
  if (task.is_transfer) {
    for (const std::uint32_t reader : workload_.tensors[task.item].readers) {
      if (devices_[reader] == task.device && !body(Waiting{0, node_key(reader), reader, task.device, false})) return false;
    }
    return true;
  }
  for (std::uint32_t tensor = first_tensor_[task.item]; tensor < first_tensor_[task.item + 1]; ++tensor) {
    for (const std::uint32_t reader : workload_.tensors[tensor].readers) {
      const std::uint32_t device = devices_[reader];
      const bool is_here = device == task.device;
      if (!body(is_here ? Waiting{0, node_key(reader), reader, device, false}
                        : Waiting{0, transfer_key(tensor, device), tensor, device, true}))
        return false;
    }
  }
  return true;
}

void StepSimulator::enqueue(double ready, const Waiting& task) {
  queue_.push_back({ready, task.key, task.item, task.device, task.is_transfer});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

// Simulates the runs of a resource from now on.
StepSimulator::MovedResource& StepSimulator::follow(std::uint32_t resource) {
  MovedResource& state = moved_resources_[resource];
  if (state.epoch == epoch_) return state;
  const std::vector<ResourceRun>& runs = on_resource_[resource];
  const auto next = std::ranges::lower_bound(runs, now_, {}, &ResourceRun::turn);
  state.epoch = epoch_;
  state.first = static_cast<std::size_t>(next - runs.begin());
  state.free = state.first > 0 ? runs[state.first - 1].end : 0;
  state.left = next == runs.end() ? 0 : work_[resource] - next->work_before;
  followed_.push_back(resource);
  return state;
}

// Adds the work of a task to its resource, or takes it away; false if it then ends above the bound.
bool StepSimulator::add_work(const Waiting& task, double sign, double bound) {
  MovedResource& state = follow(resource_of(task));
  state.left += sign * seconds_of(task);
  return sign < 0 || state.free + state.left <= bound;
}

// Takes a task out of the order of the runs; false if it ends the step above the bound.
bool StepSimulator::touch(const Waiting& task, double bound) {
  MovedTask& state = moved_[task.key];
  state.touched = epoch_;
  state.touched_by = static_cast<std::uint32_t>(moved_runs_.size());
  state.pending = 0;
  state.ready = 0;
  follow(resource_of(task));
  for_needed(task, [&](const Waiting& needed) {
    if (is_done(needed.key)) {
      state.ready = std::max(state.ready, end_of(needed.key));
      return;
    }
    ++state.pending;
    follow(resource_of(needed));
  });
  const double tail = task.is_transfer ? 0 : tails_[task.item];
  if (state.ready + seconds_of(task) + tail > bound) return false;
  for_readers(task, [&](const Waiting& reader) {
    follow(resource_of(reader));
    return true;
  });
  ++open_;
  if (state.pending == 0)
    enqueue(state.ready, task);
  else
    ++waiting_;
  return true;
}

// Touches the tasks that the move of a node from the device `before` adds, changes or removes; false if the
// step then ends above the bound.
bool StepSimulator::change_tasks(std::uint32_t node, std::uint32_t before, double bound) {
  const std::uint32_t device = devices_[node];
  const auto remove = [&](std::uint32_t tensor, std::uint32_t to) { moved_[transfer_key(tensor, to)].gone = epoch_; };
  const auto make_new = [&](const Waiting& task) {
    moved_[task.key].is_new = epoch_;
    return add_work(task, 1, bound) && touch(task, bound);
  };
  // Work goes away before other work is added, so that no bound is too high.
  devices_[node] = before;
  add_work({0, node_key(node), node, before, false}, -1, bound);
  for (const std::uint32_t tensor : reads_[node]) {
    const Waiting transfer{0, transfer_key(tensor, before), tensor, before, true};
    if (before == source_device(tensor) || readers(tensor, before) > 0) continue;
    add_work(transfer, -1, bound);
    remove(tensor, before);
  }
  std::vector<Waiting>& sent = tasks_;  // transfers of its results after the move
  sent.clear();
  for (std::uint32_t tensor = first_tensor_[node]; tensor < first_tensor_[node + 1]; ++tensor) {
    const std::size_t begin = sent.size();
    for (const std::uint32_t reader : workload_.tensors[tensor].readers) {
      const std::uint32_t to = devices_[reader];
      const auto known = [&](const Waiting& task) { return task.device == to; };
      if (std::any_of(sent.begin() + static_cast<std::ptrdiff_t>(begin), sent.end(), known)) continue;
      sent.push_back({0, transfer_key(tensor, to), tensor, to, true});
      if (to != before) add_work(sent.back(), -1, bound);
      if (to == device) remove(tensor, to);
    }
  }
  devices_[node] = device;
  std::erase_if(sent, [&](const Waiting& task) { return task.device == device; });
  for (const std::uint32_t tensor : reads_[node]) {
    if (has_transfer(tensor, device) && readers(tensor, device) == 1 && !make_new({0, transfer_key(tensor, device), tensor, device, true}))
      return false;
  }
  if (!make_new({0, node_key(node), node, device, false})) return false;
  return std::ranges::all_of(sent, make_new);
}

// Simulates what may change; false if the step takes longer than the bound.
bool StepSimulator::replay(double bound) {
  const auto turn = [](const TaskRun& run) { return Position(run.ready, run.key); };
  next_ = static_cast<std::size_t>(std::ranges::lower_bound(runs_, now_, {}, turn) - runs_.begin());
  for (;;) {
    const Position limit = queue_.empty() ? Position(std::numeric_limits<double>::infinity(), 0) : Position(queue_[0].ready, queue_[0].key);
    if (next_ < runs_.size() && turn(runs_[next_]) < limit) {
      const TaskRun& run = runs_[next_++];
      if (moved_resources_[run.resource].epoch == epoch_ && !take_turn(run, bound)) return false;
      continue;
    }
    if (queue_.empty()) return true;
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Waiting task = queue_.back();
    queue_.pop_back();
    now_ = {task.ready, task.key};
    --open_;
    if (!run_moved(task, resource_of(task), bound)) return false;
  }
}

// The turn of a run as it was; false if the step takes longer than the bound.
bool StepSimulator::take_turn(const TaskRun& run, double bound) {
  removed_.push_back(next_ - 1);
  const MovedTask& state = moved_[run.key];
  if (state.touched == epoch_ || state.gone == epoch_) return true;
  now_ = {run.ready, run.key};
  bool waits = false;
  if (open_ > 0) for_needed(task_of(run), [&](const Waiting& needed) { waits = waits || !is_done(needed.key); });
  return waits ? touch(task_of(run), bound) : run_moved(task_of(run), run.resource, bound);
}

bool StepSimulator::run_moved(const Waiting& task, std::uint32_t number, double bound) {
  MovedResource& resource = follow(number);
  const double seconds = seconds_of(task);
  const double start = std::max(task.ready, resource.free);
  const double end = start + seconds;
  inserted_.push_back(next_);
  moved_runs_.push_back({task.key, task.item, task.device, task.is_transfer, number, task.ready, start, end});
  resource.free = end;
  resource.left -= seconds;
  MovedTask& state = moved_[task.key];
  state.done = epoch_;
  state.end = end;
  ++simulated_;
  const bool is_changed = state.is_new == epoch_ || end != ends_[task.key];
  if (is_changed && end + resource.left > bound) return false;
  if (!is_changed && waiting_ == 0) return true;
  return for_readers(task, [&](const Waiting& reader) { return tell(reader, end, is_changed, bound); });
}

// Tells a task that one that it needs has ended; false if it ends the step above the bound. A transfer comes
// once for each of its readers, and only the first time counts.
bool StepSimulator::tell(const Waiting& reader, double end, bool is_changed, double bound) {
  MovedTask& state = moved_[reader.key];
  if (state.touched != epoch_) return !is_changed || touch(reader, bound);
  if (state.pending == 0 || state.touched_by == moved_runs_.size()) return true;
  state.ready = std::max(state.ready, end);
  const double tail = reader.is_transfer ? 0 : tails_[reader.item];
  if (state.ready + seconds_of(reader) + tail > bound) return false;
  if (--state.pending > 0) return true;
  --waiting_;
  enqueue(state.ready, reader);
  return true;
}

// A transfer ends before its readers do.
double StepSimulator::step_of_move() const {
  double step = 0;
  for (std::uint32_t device = 0; device < cluster_.size(); ++device) {
    const MovedResource& state = moved_resources_[device];
    const std::vector<ResourceRun>& runs = on_resource_[device];
    const double last = state.epoch == epoch_ ? state.free : runs.empty() ? 0 : runs.back().end;
    step = std::max(step, last);
  }
  return step;
}

// Puts the simulated runs in the place of those that were removed. Others stay where they are, as far as
// they can.
void StepSimulator::merge_runs() {
  shifted_.clear();
  std::size_t removed = 0;
  // A moved node is both removed and inserted.
  std::size_t from = std::min(removed_[0], inserted_[0]);
  std::size_t to = from;
  const auto keep_until = [&](std::size_t end) {
    if (from < end && from != to) shifted_.push_back({from, to, end - from});
    to += end - from;
    from = end;
  };
  const auto advance = [&](std::size_t end) {
    for (; removed < removed_.size() && removed_[removed] < end; ++removed) {
      keep_until(removed_[removed]);
      ++from;
    }
    keep_until(end);
  };
  for (std::size_t& position : inserted_) {
    advance(position);
    position = to++;
  }
  advance(runs_.size());
  const std::size_t size = to;
  runs_.resize(std::max(size, runs_.size()));
  // Runs that go up start with the last, so that none is overwritten before it has moved.
  for (auto part = shifted_.rbegin(); part != shifted_.rend(); ++part) {
    if (part->to > part->from) std::copy_backward(&runs_[part->from], &runs_[part->from] + part->size, &runs_[part->to] + part->size);
  }
  for (const KeptRuns& part : shifted_) {
    if (part.to < part.from) std::copy(&runs_[part.from], &runs_[part.from] + part.size, &runs_[part.to]);
  }
  for (std::size_t k = 0; k < moved_runs_.size(); ++k) runs_[inserted_[k]] = moved_runs_[k];
  runs_.resize(size);
}

// Makes the simulated tasks runs of the step.
void StepSimulator::keep_moved() {
  merge_runs();
  for (const std::uint32_t number : followed_) {
    std::vector<ResourceRun>& runs = on_resource_[number];
    const std::size_t first = moved_resources_[number].first;
    if (first == runs.size()) continue;
    work_[number] = runs[first].work_before;
    runs.resize(first);
  }
  for (const TaskRun& run : moved_runs_) {
    on_resource_[run.resource].push_back({{run.ready, run.key}, run.end, work_[run.resource]});
    work_[run.resource] += seconds_of(task_of(run));
    ready_[run.key] = run.ready;
    ends_[run.key] = run.end;
  }
}

std::optional<double> StepSimulator::move(std::uint32_t node, std::uint32_t device, double limit) {
  // Bounds add up in another order than times do.
  constexpr double kDrift = 1e-9;
  const double bound = limit + kDrift * limit;
  const std::uint32_t before = devices_[node];
  if (device == before) return step_ <= limit ? std::optional(step_) : std::nullopt;
  if (!is_indexed_) index_runs();
  now_ = first_change(node, device);
  ++epoch_;
  waiting_ = 0;
  open_ = 0;
  queue_.clear();
  followed_.clear();
  moved_runs_.clear();
  inserted_.clear();
  removed_.clear();
  assign(node, device);
  if (change_tasks(node, before, bound) && replay(bound)) {
    const double step = step_of_move();
    if (step <= limit) {
      keep_moved();
      step_ = step;
      return step_;
    }
  }
  assign(node, before);
  return std::nullopt;
}

}  // namespace xflow::parallel
