#include "src/parallel/ordered_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace xflow::parallel {
namespace {

constexpr std::uint32_t kNoChoice = UINT32_MAX;

// Numbers from 1 that grow with the priority. Both zeros have the same.
std::uint32_t rank_of(float priority) {
  const auto bits = std::bit_cast<std::uint32_t>(priority + 0.0F);
  constexpr std::uint32_t kSign = 0x80000000U;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

Unexpected ordered_fault(const std::string& text) { return fail(ErrorCode::invalid_argument, text); }

}  // namespace

Result<void> check_fusions(const Workload& workload, std::span<const FusionChoice> fusions) {
  const std::size_t nodes = workload.nodes.size();
  std::vector<std::uint32_t> reader(nodes, kNoChoice);
  std::vector<bool> has_other(nodes, false);
  for (const WorkloadTensor& tensor : workload.tensors) {
    const bool has_one = tensor.readers.size() == 1;
    if (!has_one || (reader[tensor.source] != kNoChoice && reader[tensor.source] != tensor.readers[0])) has_other[tensor.source] = true;
    if (has_one) reader[tensor.source] = tensor.readers[0];
  }
  std::vector<bool> has_choice(nodes, false);
  for (std::size_t k = 0; k < fusions.size(); ++k) {
    const FusionChoice& choice = fusions[k];
    if (choice.node >= nodes || has_other[choice.node] || reader[choice.node] != choice.into || choice.into >= nodes)
      return ordered_fault(fmt::format("fusion {}: node {} is not the only reader of all tensors of node {}", k, choice.into, choice.node));
    if (has_choice[choice.node]) return ordered_fault(fmt::format("fusion {}: node {} has another one", k, choice.node));
    if (!std::isfinite(choice.saved)) return ordered_fault(fmt::format("fusion {} saves a time that is not finite", k));
    has_choice[choice.node] = true;
  }
  return {};
}

Result<void> check_ordered_plan(const OrderedProblem& problem, const OrderedPlan& plan) {
  const std::size_t nodes = problem.workload.nodes.size();
  if (plan.devices.size() != nodes || plan.priorities.size() != nodes)
    return ordered_fault(
        fmt::format("a plan has {} devices and {} priorities for {} nodes", plan.devices.size(), plan.priorities.size(), nodes));
  if (plan.fused.size() != problem.fusions.size())
    return ordered_fault(fmt::format("a plan decides {} of {} fusions", plan.fused.size(), problem.fusions.size()));
  for (std::size_t node = 0; node < nodes; ++node) {
    if (plan.devices[node] >= problem.cluster.size())
      return ordered_fault(fmt::format("node {} is on device {} of {}", node, plan.devices[node], problem.cluster.size()));
    if (!std::isfinite(plan.priorities[node])) return ordered_fault(fmt::format("node {} has a priority that is not finite", node));
  }
  return {};
}

OrderedSimulator::OrderedSimulator(const OrderedProblem& problem) : problem_(problem), devices_(problem.cluster.size()) {
  const Workload& workload = problem.workload;
  const std::size_t nodes = workload.nodes.size();
  seconds_.reserve(nodes * devices_);
  for (const WorkloadNode& node : workload.nodes) seconds_.insert(seconds_.end(), node.seconds.begin(), node.seconds.end());
  operands_.assign(nodes, 0);
  first_tensor_.assign(nodes + 1, 0);
  first_reader_ = {0};
  for (const WorkloadTensor& tensor : workload.tensors) {
    ++first_tensor_[tensor.source + 1];
    for (const std::uint32_t reader : tensor.readers) ++operands_[reader];
    readers_.insert(readers_.end(), tensor.readers.begin(), tensor.readers.end());
    first_reader_.push_back(static_cast<std::uint32_t>(readers_.size()));
  }
  for (std::size_t node = 0; node < nodes; ++node) first_tensor_[node + 1] += first_tensor_[node];
  choice_of_.assign(nodes, kNoChoice);
  for (std::size_t k = 0; k < problem.fusions.size(); ++k) choice_of_[problem.fusions[k].node] = static_cast<std::uint32_t>(k);
  tasks_.resize(nodes);
  task_seconds_.resize(nodes);
  starts_.resize(nodes);
  busy_.resize(devices_);
  resident_.resize(devices_);
  resources_.resize(problem.cluster.resources());
  receivers_.assign(devices_, 0);
  causes_.resize(nodes + workload.tensors.size() * devices_);
}

std::optional<OrderedStep> OrderedSimulator::simulate(const OrderedPlan& plan, double limit) {
  // The work that is left adds up in another order than times do.
  constexpr double kDrift = 1e-9;
  prepare(plan);
  if (!run(limit + kDrift * limit) || last_end_ > limit) return std::nullopt;
  return OrderedStep{last_end_, missing_bytes()};
}

// Sets the tasks and what they wait for.
void OrderedSimulator::prepare(const OrderedPlan& plan) {
  std::ranges::fill(busy_, 0);
  std::ranges::fill(resident_, 0);
  for (auto node = static_cast<std::uint32_t>(tasks_.size()); node-- > 0;) {
    OrderedTask& own = tasks_[node];
    const std::uint32_t choice = choice_of_[node];
    if (choice != kNoChoice && plan.fused[choice]) {
      // The node it is fused into is above it.
      own.root = tasks_[problem_.fusions[choice].into].root;
      OrderedTask& root = tasks_[own.root];
      root.pending += operands_[node] - (first_tensor_[node + 1] - first_tensor_[node]);
      task_seconds_[own.root] += seconds_[std::size_t{node} * devices_ + root.device] - problem_.fusions[choice].saved;
    } else {
      const std::uint32_t device = plan.devices[node];
      own = {node, device, operands_[node], rank_of(plan.priorities[node])};
      task_seconds_[node] = seconds_[std::size_t{node} * devices_ + device];
    }
    resident_[tasks_[own.root].device] += problem_.workload.nodes[node].bytes;
  }
  for (std::uint32_t node = 0; node < tasks_.size(); ++node) {
    if (tasks_[node].root != node) continue;
    task_seconds_[node] = std::max(task_seconds_[node], 0.0);
    busy_[tasks_[node].device] += task_seconds_[node];
  }
  left_ = busy_;
}

void OrderedSimulator::find_critical_nodes(std::vector<std::uint32_t>& nodes) const {
  nodes.clear();
  for (std::uint32_t task = ended_; task != kNoCause; task = causes_[task])
    if (task < tasks_.size()) nodes.push_back(task);
}

double OrderedSimulator::missing_bytes() const {
  double missing = 0;
  for (std::uint32_t device = 0; device < devices_; ++device)
    missing += std::max(0.0, resident_[device] - problem_.cluster.devices[device].memory);
  return missing;
}

// False as soon as the step is known to take longer than the bound.
bool OrderedSimulator::run(double bound) {
  for (Resource& resource : resources_) {
    resource.is_free = true;
    resource.last = kNoCause;
    resource.last_end = -1;
    resource.ready.clear();
  }
  ended_ = kNoCause;
  ends_.clear();
  idle_.clear();
  last_end_ = 0;
  if (*std::ranges::max_element(left_) > bound) return false;
  for (std::uint32_t node = 0; node < tasks_.size(); ++node)
    if (tasks_[node].root == node && tasks_[node].pending == 0) enqueue(tasks_[node].device, tasks_[node].rank, node);
  double now = 0;
  while (true) {
    for (const std::uint32_t resource : idle_)
      if (!begin_next(resource, now, bound)) return false;
    idle_.clear();
    if (ends_.empty()) return true;
    now = ends_.front().time;
    last_end_ = now;
    while (!ends_.empty() && ends_.front().time == now) {
      const std::uint32_t number = ends_.front().resource;
      std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
      ends_.pop_back();
      Resource& resource = resources_[number];
      resource.is_free = true;
      resource.last = ended_ = cause_index(number, resource.running);
      resource.last_end = now;
      idle_.push_back(number);
      if (number < devices_) {
        end_node(resource.running);
      } else {
        end_transfer(resource.running);
      }
    }
  }
}

bool OrderedSimulator::begin_next(std::uint32_t resource, double time, double bound) {
  Resource& own = resources_[resource];
  if (!own.is_free || own.ready.empty()) return true;
  std::pop_heap(own.ready.begin(), own.ready.end());
  own.running = ~static_cast<std::uint32_t>(own.ready.back());
  own.ready.pop_back();
  own.is_free = false;
  if (own.last_end == time) causes_[cause_index(resource, own.running)] = own.last;
  double end = time;
  if (resource < devices_) {
    if (time + left_[resource] > bound) return false;
    left_[resource] -= task_seconds_[own.running];
    starts_[own.running] = time;
    end += task_seconds_[own.running];
  } else {
    end += seconds_of_transfer(own.running);
  }
  ends_.push_back({end, resource});
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
  return true;
}

void OrderedSimulator::enqueue(std::uint32_t resource, std::uint32_t rank, std::uint32_t number) {
  Resource& own = resources_[resource];
  constexpr unsigned kNumberBits = 32;
  own.ready.push_back((Turn{rank} << kNumberBits) | std::uint32_t{~number});
  std::push_heap(own.ready.begin(), own.ready.end());
  causes_[cause_index(resource, number)] = ended_;
  if (own.is_free) idle_.push_back(resource);
}

// Only the root of a task has tensors that other tasks read.
void OrderedSimulator::end_node(std::uint32_t node) {
  const std::uint32_t device = tasks_[node].device;
  for (std::uint32_t tensor = first_tensor_[node]; tensor < first_tensor_[node + 1]; ++tensor) {
    for (std::uint32_t k = first_reader_[tensor]; k < first_reader_[tensor + 1]; ++k) {
      const std::uint32_t root = tasks_[readers_[k]].root;
      const OrderedTask& reader = tasks_[root];
      if (reader.device == device) {
        take_operand(root);
        continue;
      }
      std::uint32_t& rank = receivers_[reader.device];
      if (rank == 0) received_.push_back(reader.device);
      rank = std::max(rank, reader.rank);
    }
    for (const std::uint32_t to : received_) {
      enqueue(problem_.cluster.link_resource(device, to), receivers_[to], tensor * devices_ + to);
      receivers_[to] = 0;
    }
    received_.clear();
  }
}

void OrderedSimulator::end_transfer(std::uint32_t number) {
  const std::uint32_t tensor = number / devices_;
  const std::uint32_t device = number % devices_;
  for (std::uint32_t k = first_reader_[tensor]; k < first_reader_[tensor + 1]; ++k) {
    const std::uint32_t root = tasks_[readers_[k]].root;
    if (tasks_[root].device == device) take_operand(root);
  }
}

void OrderedSimulator::take_operand(std::uint32_t root) {
  OrderedTask& task = tasks_[root];
  if (--task.pending == 0) enqueue(task.device, task.rank, root);
}

double OrderedSimulator::seconds_of_transfer(std::uint32_t number) const {
  const WorkloadTensor& tensor = problem_.workload.tensors[number / devices_];
  return problem_.cluster.link(tasks_[tensor.source].device, number % devices_).seconds(tensor.bytes);
}

}  // namespace xflow::parallel
