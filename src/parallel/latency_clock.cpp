#include "src/parallel/latency_clock.h"

#include <algorithm>
#include <utility>

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

}  // namespace

LatencyClock::LatencyClock(const PlacementInstance& instance, std::vector<std::uint32_t> group_of_node)
    : group_of_node_(std::move(group_of_node)), readers_(static_cast<std::uint32_t>(instance.nodes.size()), instance.edges, false) {
  for (const PlacementNode& node : instance.nodes) cpu_times_.push_back(node.cpu_time);
}

double LatencyClock::latency(const DeviceLoads& loads, double limit) {
  accelerators_ = loads.problem().accelerators;
  collect(loads);
  std::size_t open = 0;  // tasks that have not ended
  ready_.clear();
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    const bool has_nodes = task < accelerators_ ? first_on_device_[task] != kNobody : tasks_of_nodes_[task - accelerators_] == task;
    if (!has_nodes) continue;
    ++open;
    if (tasks_[task].missing == 0) ready_.push_back(task);
  }
  double last = 0;
  while (!ready_.empty()) {
    const std::uint32_t task = ready_.back();
    ready_.pop_back();
    --open;
    const bool on_accelerator = task < accelerators_;
    const double time = tasks_[task].ready + (on_accelerator ? loads.load(task) : cpu_times_[task - accelerators_]);
    if (time > limit) return kInfinity;
    last = std::max(last, time);
    if (!on_accelerator) end(task - accelerators_, task, time);
    if (!on_accelerator) continue;
    for (std::uint32_t node = first_on_device_[task]; node != kNobody; node = next_on_device_[node]) end(node, task, time);
  }
  return open == 0 ? last : kInfinity;
}

void LatencyClock::collect(const DeviceLoads& loads) {
  const auto nodes = static_cast<std::uint32_t>(group_of_node_.size());
  tasks_.assign(std::size_t{accelerators_} + nodes, {});
  tasks_of_nodes_.resize(nodes);
  next_on_device_.resize(nodes);
  first_on_device_.assign(accelerators_, kNobody);
  for (std::uint32_t node = nodes; node-- > 0;) {
    const std::uint32_t task = task_of(loads, node);
    tasks_of_nodes_[node] = task;
    if (task >= accelerators_) continue;
    next_on_device_[node] = first_on_device_[task];
    first_on_device_[task] = node;
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (const std::uint32_t reader : readers_[node]) {
      if (tasks_of_nodes_[reader] != tasks_of_nodes_[node]) ++tasks_[tasks_of_nodes_[reader]].missing;
    }
  }
}

void LatencyClock::end(std::uint32_t node, std::uint32_t task, double time) {
  for (const std::uint32_t reader : readers_[node]) {
    const std::uint32_t next = tasks_of_nodes_[reader];
    if (next == task) continue;
    Task& waiting = tasks_[next];
    waiting.ready = std::max(waiting.ready, time);
    if (--waiting.missing == 0) ready_.push_back(next);
  }
}

}  // namespace xflow::parallel
