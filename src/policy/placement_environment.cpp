#include "src/policy/placement_environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/parallel/evaluate.h"
#include "src/parallel/interval_program.h"
#include "src/parallel/latency_methods.h"
#include "src/parallel/load_methods.h"
#include "src/parallel/place.h"
#include "src/parallel/random_numbers.h"
#include "src/parallel/search_budget.h"

namespace xflow::policy {
namespace {

using parallel::GroupDevices;

constexpr double kNorm = 16;
constexpr double kClose = 100;  // factor for changes of about a hundredth

float limited(double x) { return static_cast<float>(std::clamp(x, -1.0, 1.0)); }
float scaled(double x, double mean) { return static_cast<float>(mean > 0 ? std::log1p(x / mean) : 0); }

std::vector<double> longest(std::span<const std::uint32_t> order, const std::vector<std::vector<std::uint32_t>>& before,
                            const std::vector<double>& times) {
  std::vector<double> ends(times.size());
  for (const std::uint32_t group : order) {
    double begin = 0;
    for (const std::uint32_t other : before[group]) begin = std::max(begin, ends[other]);
    ends[group] = begin + times[group];
  }
  return ends;
}

Matrix means_of(const std::vector<std::vector<std::uint32_t>>& neighbours) {
  Matrix result(neighbours.size(), neighbours.size());
  for (std::size_t group = 0; group < neighbours.size(); ++group) {
    for (const std::uint32_t other : neighbours[group]) result.at(group, other) = 1 / static_cast<float>(neighbours[group].size());
  }
  return result;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

}  // namespace

PlacementEnvironment::PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective)
    : PlacementEnvironment(instance, objective, parallel::groups_of_nodes(instance)) {}

PlacementEnvironment::PlacementEnvironment(const parallel::PlacementInstance& instance, PlacementObjective objective,
                                           std::vector<std::uint32_t> group_of_node)
    : objective_(objective),
      group_of_node_(std::move(group_of_node)),
      problem_(parallel::useful_problem(instance, group_of_node_, objective)),
      loads_(problem_, GroupDevices(problem_.size(), problem_.devices() - 1)) {
  if (objective == PlacementObjective::latency) clock_.emplace(instance, group_of_node_);
  // Groups of a cycle follow each other.
  const parallel::ContiguousProblem contiguous = parallel::contiguous_problem(problem_);
  std::vector<std::vector<std::uint32_t>> members(contiguous.problem.size());
  for (std::uint32_t group = 0; group < problem_.size(); ++group) members[contiguous.part[group]].push_back(group);
  for (const std::uint32_t part : parallel::topological_order(contiguous.problem.size(), contiguous.problem.order))
    order_.insert(order_.end(), members[part].begin(), members[part].end());
  parents_of_.resize(problem_.size());
  children_of_.resize(problem_.size());
  for (const auto& [from, to] : problem_.order) {
    children_of_[from].push_back(to);
    parents_of_[to].push_back(from);
  }
  parents_ = means_of(parents_of_);
  children_ = means_of(children_of_);
  describe_groups(instance);
  if (const auto first = start()) reset(*first);
}

void PlacementEnvironment::describe_groups(const parallel::PlacementInstance& instance) {
  const std::size_t count = problem_.size();
  std::vector<double> times(count), cpu_times(count), bytes(count), sent(count), received(count);
  for (std::size_t node = 0; node < instance.nodes.size(); ++node) sent[group_of_node_[node]] += instance.output_cost[node];
  for (std::size_t group = 0; group < count; ++group) {
    const parallel::PlacementGroup& g = problem_.groups[group];
    cpu_times[group] = problem_.cpus > 0 ? g.cpu_time : 0;
    times[group] = g.on_accelerator && problem_.accelerators > 0 ? g.accelerator_time : g.cpu_time;
    bytes[group] = g.bytes;
    for (const std::uint32_t tensor : problem_.tensors_of[group]) received[group] += problem_.tensors[tensor].cost;
  }
  const std::vector<double> ends = longest(order_, parents_of_, times);
  const std::vector<std::uint32_t> backwards(order_.rbegin(), order_.rend());
  const std::vector<double> tails = longest(backwards, children_of_, times);
  const double path = *std::ranges::max_element(ends);
  mean_time_ = mean_of(times);
  group_features_ = Matrix(count, kGroupFeatures);
  for (std::size_t group = 0; group < count; ++group) {
    const std::span<float> row = group_features_.row(group);
    row[0] = scaled(times[group], mean_time_);
    row[1] = scaled(cpu_times[group], mean_time_);
    row[2] = scaled(bytes[group], mean_of(bytes));
    row[3] = scaled(sent[group], mean_time_);
    row[4] = scaled(received[group], mean_time_);
    row[5] = static_cast<float>(path > 0 ? ends[group] / path : 0);
    row[6] = static_cast<float>(path > 0 ? tails[group] / path : 0);
    row[7] = static_cast<float>(std::log1p(parents_of_[group].size()));
    row[8] = static_cast<float>(std::log1p(children_of_[group].size()));
    row[9] = static_cast<float>(problem_.memory > 0 ? std::min(1.0, bytes[group] / problem_.memory) : 0);
    row[10] = problem_.groups[group].on_accelerator ? 1.0F : 0.0F;
  }
}

std::optional<GroupDevices> PlacementEnvironment::start(std::uint64_t number) {
  const parallel::ContiguousProblem contiguous = parallel::contiguous_problem(problem_);
  const parallel::PlacementProblem& problem = contiguous.problem;
  std::vector<GroupDevices> found;
  const auto add = [&](const std::optional<GroupDevices>& of_parts) {
    if (!of_parts) return;
    GroupDevices devices;
    for (const std::uint32_t part : contiguous.part) devices.push_back((*of_parts)[part]);
    if (parallel::DeviceLoads(problem_, devices).is_valid()) found.push_back(std::move(devices));
  };
  const auto add_intervals = [&](std::span<const std::uint32_t> order) {
    if (!clock_) return add(parallel::even_intervals(problem, order));
    parallel::SearchBudget unlimited;
    if (const auto best = parallel::best_interval_sum(problem, order, unlimited)) add(best->devices);
  };
  if (number == 0) {
    const std::vector<std::uint32_t> order = parallel::topological_order(problem.size(), problem.order);
    if (auto simple = parallel::simple_placement(problem_)) found.push_back(std::move(*simple));
    add_intervals(order);
    if (clock_) add(parallel::filled_in_order(problem, order));
  } else {
    parallel::RandomNumbers random(number);
    add_intervals(parallel::random_order(parallel::Adjacency(problem.size(), problem.order, false), random));
  }
  std::optional<GroupDevices> best;
  double least = 0;
  for (GroupDevices& devices : found) {
    const double value = value_of(devices);
    if (best && !(value < least)) continue;
    best = std::move(devices);
    least = value;
  }
  return best;
}

double PlacementEnvironment::value_of(const GroupDevices& devices) {
  const parallel::DeviceLoads loads(problem_, devices);
  return clock_ ? clock_->latency(loads) : loads.max_load();
}

void PlacementEnvironment::reset(GroupDevices devices) {
  loads_.reset(std::move(devices));
  const Measure now = measure();
  value_ = now.value;
  potential_ = now.potential;
}

void PlacementEnvironment::move(std::uint32_t group, std::uint32_t device) {
  if (device == loads_.device_of(group)) return;
  loads_.move(group, device);
  const Measure now = measure();
  value_ = now.value;
  potential_ = now.potential;
}

PlacementEnvironment::Measure PlacementEnvironment::measure() {
  if (clock_) {
    const double latency = clock_->latency(loads_);
    return {latency, latency};
  }
  const double most = loads_.max_load();
  if (!(most > 0)) return {0, 0};
  double sum = 0;
  for (std::uint32_t device = 0; device < problem_.devices(); ++device) sum += std::pow(std::max(0.0, loads_.load(device)) / most, kNorm);
  return {most, most * std::pow(sum, 1 / kNorm)};
}

PlacementEnvironment::Choices PlacementEnvironment::choices(std::uint32_t group, double progress) {
  const std::uint32_t devices = problem_.devices();
  Choices result = neighbours_on_devices(*this, group);
  const std::uint32_t current = loads_.device_of(group);
  const double most = std::max(loads_.max_load(), 1e-300);
  const double load_before = loads_.load(current);
  std::vector<std::uint32_t> members(devices);
  for (const std::uint32_t device : loads_.devices()) ++members[device];
  for (std::uint32_t device = 0; device < devices; ++device) {
    const double load = loads_.load(device);
    Measure after{value_, potential_};
    const bool stays = device == current;
    bool possible = stays || loads_.has_memory_for(group, device);
    if (!stays && possible) {
      loads_.move(group, device);
      after = measure();
      possible = std::isfinite(after.value);
    }
    const std::span<float> row = result.features.row(device);
    const double change = value_ > 0 && possible ? after.value / value_ - 1 : 0;
    const double potential_change = potential_ > 0 && possible ? after.potential / potential_ - 1 : 0;
    row[0] = stays ? 1 : 0;
    row[1] = limited(10 * change);
    row[2] = static_cast<float>(std::tanh(kClose * change));
    row[3] = limited(10 * potential_change);
    row[4] = static_cast<float>(std::tanh(kClose * potential_change));
    row[5] = limited(load / most);
    row[6] = limited(loads_.load(device) / most);
    row[7] = limited(loads_.load(current) / most);
    row[8] = limited((loads_.load(device) + (stays ? 0 : loads_.load(current) - load_before) - load) / std::max(mean_time_, 1e-300) / 10);
    row[9] = problem_.is_accelerator(device) && problem_.memory > 0 ? limited(loads_.bytes(device) / problem_.memory) : 0.0F;
    row[10] = problem_.is_accelerator(device) ? 0 : 1;
    row[11] = static_cast<float>(progress);
    row[12] = static_cast<float>(members[device]) / static_cast<float>(problem_.size());
    if (!stays && loads_.device_of(group) == device) loads_.move(group, current);
    result.possible[device] = possible;
  }
  return result;
}

}  // namespace xflow::policy
