#include "src/parallel/step_simulator.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace xflow::parallel {

StepSimulator::StepSimulator(const Workload& workload, const DeviceCluster& cluster, std::vector<std::uint32_t> devices, double limit)
    : workload_(workload), cluster_(cluster), devices_(std::move(devices)) {
  const std::size_t nodes = workload.nodes.size();
  const std::size_t keys = nodes + workload.tensors.size() * cluster.size();
  first_tensor_.assign(nodes + 1, 0);
  reads_.resize(nodes);
  readers_.assign(workload.tensors.size() * cluster.size(), 0);
  tails_.assign(nodes, 0);
  for (std::uint32_t tensor = 0; tensor < workload.tensors.size(); ++tensor) {
    ++first_tensor_[workload.tensors[tensor].source + 1];
    for (const std::uint32_t reader : workload.tensors[tensor].readers) reads_[reader].push_back(tensor);
  }
  for (std::size_t node = 0; node < nodes; ++node) first_tensor_[node + 1] += first_tensor_[node];
  for (auto tensor = workload.tensors.rbegin(); tensor != workload.tensors.rend(); ++tensor) {
    for (const std::uint32_t reader : tensor->readers) {
      const std::vector<double>& seconds = workload.nodes[reader].seconds;
      tails_[tensor->source] = std::max(tails_[tensor->source], *std::min_element(seconds.begin(), seconds.end()) + tails_[reader]);
    }
  }
  free_.assign(cluster.resources(), 0);
  left_.assign(cluster.resources(), 0);
  ready_.assign(keys, 0);
  ends_.assign(keys, 0);
  pending_.assign(keys, 0);
  done_.assign(keys, false);
  is_within_limit_ = simulate(devices_, limit).has_value();
}

std::optional<double> StepSimulator::simulate(std::span<const std::uint32_t> devices, double limit) {
  const auto nodes = static_cast<std::uint32_t>(workload_.nodes.size());
  const auto tensors = static_cast<std::uint32_t>(workload_.tensors.size());
  for (std::uint32_t tensor = 0; tensor < tensors; ++tensor) {
    for (const std::uint32_t reader : workload_.tensors[tensor].readers) readers(tensor, devices_[reader]) = 0;
  }
  if (devices.data() != devices_.data()) devices_.assign(devices.begin(), devices.end());
  tasks_.clear();
  const auto add = [&](const Waiting& task) {
    done_[task.key] = false;
    tasks_.push_back(task);
  };
  for (std::uint32_t node = 0; node < nodes; ++node) add({0, node_key(node), node, devices_[node], false});
  for (std::uint32_t tensor = 0; tensor < tensors; ++tensor) {
    for (const std::uint32_t reader : workload_.tensors[tensor].readers) {
      const std::uint32_t device = devices_[reader];
      const bool is_first = readers(tensor, device)++ == 0;
      if (is_first && device != source_device(tensor)) add({0, transfer_key(tensor, device), tensor, device, true});
    }
  }
  runs_.clear();
  is_indexed_ = false;
  step_ = 0;
  std::ranges::fill(free_, 0);
  prepare();
  return run(limit) ? std::optional(step_) : std::nullopt;
}

std::uint32_t StepSimulator::resource_of(const Waiting& task) const {
  return task.is_transfer ? cluster_.link_resource(source_device(task.item), task.device) : task.device;
}

double StepSimulator::seconds_of(const Waiting& task) const {
  if (!task.is_transfer) return workload_.nodes[task.item].seconds[task.device];
  return cluster_.link(source_device(task.item), task.device).seconds(workload_.tensors[task.item].bytes);
}

// Sets what the listed tasks wait for.
void StepSimulator::prepare() {
  queue_.clear();
  for (const Waiting& task : tasks_) left_[resource_of(task)] = 0;
  for (Waiting task : tasks_) {
    left_[resource_of(task)] += seconds_of(task);
    pending_[task.key] = 0;
    const auto wait_for = [&](std::uint32_t key) {
      if (done_[key])
        task.ready = std::max(task.ready, ends_[key]);
      else
        ++pending_[task.key];
    };
    if (task.is_transfer) {
      wait_for(node_key(workload_.tensors[task.item].source));
    } else {
      for (const std::uint32_t tensor : reads_[task.item])
        wait_for(has_transfer(tensor, task.device) ? transfer_key(tensor, task.device) : node_key(workload_.tensors[tensor].source));
    }
    ready_[task.key] = task.ready;
    if (pending_[task.key] == 0) queue_.push_back(task);
  }
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
}

// Runs all tasks; false if the step takes longer than the limit.
bool StepSimulator::run(double limit) {
  // Bounds add up in another order than times do.
  constexpr double kDrift = 1e-9;
  const double bound = limit + kDrift * limit;
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Waiting task = queue_.back();
    queue_.pop_back();
    const std::uint32_t resource = resource_of(task);
    const double seconds = seconds_of(task);
    const double start = std::max(task.ready, free_[resource]);
    runs_.push_back({task.key, task.item, task.device, task.is_transfer, resource, task.ready, start, start + seconds});
    const TaskRun done = runs_.back();
    free_[resource] = done.end;
    left_[resource] -= seconds;
    step_ = std::max(step_, done.end);
    ends_[task.key] = done.end;
    done_[task.key] = true;
    ++simulated_;
    if (done.end + left_[resource] > bound || !finish(done, bound)) return false;
  }
  return step_ <= limit;
}

// Tells the tasks that need a run that it has ended; false if one of them ends the step above the bound.
bool StepSimulator::finish(const TaskRun& done, double bound) {
  if (done.is_transfer) {
    for (const std::uint32_t reader : workload_.tensors[done.item].readers) {
      if (devices_[reader] == done.device && !arrive(reader, done.end, bound)) return false;
    }
    return true;
  }
  for (std::uint32_t tensor = first_tensor_[done.item]; tensor < first_tensor_[done.item + 1]; ++tensor) {
    for (const std::uint32_t reader : workload_.tensors[tensor].readers) {
      const std::uint32_t device = devices_[reader];
      if (device == done.device) {
        if (!arrive(reader, done.end, bound)) return false;
        continue;
      }
      const std::uint32_t key = transfer_key(tensor, device);
      if (std::exchange(pending_[key], 0) == 0) continue;  // another reader of that device was first
      queue_.push_back({done.end, key, tensor, device, true});
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    }
  }
  return true;
}

bool StepSimulator::arrive(std::uint32_t node, double time, double bound) {
  const std::uint32_t key = node_key(node);
  ready_[key] = std::max(ready_[key], time);
  if (ready_[key] + workload_.nodes[node].seconds[devices_[node]] + tails_[node] > bound) return false;
  if (--pending_[key] > 0) return true;
  queue_.push_back({ready_[key], key, node, devices_[node], false});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  return true;
}

}  // namespace xflow::parallel
