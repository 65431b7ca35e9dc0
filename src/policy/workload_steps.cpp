#include "src/policy/workload_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/parallel/ordering.h"
#include "src/parallel/placement_problem.h"

namespace xflow::policy {

Result<std::unique_ptr<WorkloadSteps>> WorkloadSteps::of(const parallel::PlacementInstance& instance, parallel::DeviceCluster cluster,
                                                         const std::string& where) {
  constexpr double kMillisecond = 1e-3;
  const auto count = static_cast<std::uint32_t>(instance.nodes.size());
  const std::vector<std::uint32_t> order = parallel::topological_order(count, instance.edges);
  if (order.size() < count) return fail(ErrorCode::unsupported, "nodes read each other, so that there is no step", where);
  std::unique_ptr<WorkloadSteps> steps(new WorkloadSteps(std::move(cluster)));
  std::vector<std::uint32_t> position(count);
  for (std::uint32_t k = 0; k < count; ++k) position[order[k]] = k;
  std::vector<std::vector<std::uint32_t>> readers(count);
  for (const auto& [from, to] : instance.edges) readers[position[from]].push_back(position[to]);
  const std::vector<std::uint32_t> group_of = parallel::groups_of_nodes(instance);
  // Groups by their first nodes in the order.
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t k = 0; k < count; ++k) {
    const parallel::PlacementNode& node = instance.nodes[order[k]];
    const double seconds = kMillisecond * (node.on_accelerator ? node.accelerator_time : node.cpu_time);
    const std::uint32_t group = numbers.emplace(group_of[order[k]], static_cast<std::uint32_t>(numbers.size())).first->second;
    steps->group_of_.push_back(group);
    steps->seconds_.resize(numbers.size(), 0);
    steps->bytes_.resize(numbers.size(), 0);
    steps->seconds_[group] += seconds;
    steps->bytes_[group] += node.bytes;
    steps->workload_.nodes.push_back({std::vector<double>(steps->cluster_.size(), seconds), node.bytes});
    if (readers[k].empty()) continue;
    const parallel::LinkRates& link = steps->cluster_.inside;
    const double bytes = std::max(0.0, kMillisecond * instance.output_cost[order[k]] - link.latency) * link.bandwidth;
    std::ranges::sort(readers[k]);
    steps->workload_.tensors.push_back({k, bytes, readers[k]});
  }
  steps->sources_.resize(steps->groups());
  steps->readers_.resize(steps->groups());
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sent;
  for (const parallel::WorkloadTensor& tensor : steps->workload_.tensors) {
    for (const std::uint32_t reader : tensor.readers) {
      const std::pair edge(steps->group_of_[tensor.source], steps->group_of_[reader]);
      if (edge.first != edge.second) sent[edge] += tensor.bytes;
    }
  }
  for (const auto& [edge, bytes] : sent) {
    steps->readers_[edge.first].push_back({edge.second, bytes});
    steps->sources_[edge.second].push_back({edge.first, bytes});
  }
  XFLOW_CHECK(parallel::check_workload(steps->workload_, steps->cluster_.size()));
  steps->simulator_ = std::make_unique<parallel::StepSimulator>(steps->workload_, steps->cluster_, std::vector<std::uint32_t>(count, 0));
  return steps;
}

parallel::PlanCost WorkloadSteps::step(std::span<const std::uint32_t> places) {
  std::vector<std::uint32_t> devices(group_of_.size());
  std::vector<double> resident(cluster_.size(), 0);
  for (std::size_t node = 0; node < devices.size(); ++node) devices[node] = places[group_of_[node]];
  for (std::size_t group = 0; group < bytes_.size(); ++group) resident[places[group]] += bytes_[group];
  parallel::PlanCost cost;
  for (std::uint32_t device = 0; device < cluster_.size(); ++device)
    cost.missing += std::max(0.0, resident[device] - cluster_.devices[device].memory);
  cost.step = *simulator_->simulate(devices);
  return cost;
}

}  // namespace xflow::policy
