#include "src/policy/workload_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/parallel/placement_problem.h"
#include "src/parallel/step_instance.h"

namespace xflow::policy {

Result<std::unique_ptr<WorkloadSteps>> WorkloadSteps::of(const parallel::PlacementInstance& instance, parallel::DeviceCluster cluster,
                                                         const std::string& where) {
  XFLOW_TRY(parallel::StepInstance step, parallel::step_instance(instance, cluster, where));
  std::unique_ptr<WorkloadSteps> steps(new WorkloadSteps(std::move(cluster)));
  steps->workload_ = std::move(step.workload);
  const std::vector<std::uint32_t> group_of = parallel::groups_of_nodes(instance);
  // Groups by their first nodes in the order.
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::size_t k = 0; k < step.nodes.size(); ++k) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const std::uint32_t group = numbers.emplace(group_of[step.nodes[k]], next).first->second;
    steps->group_of_.push_back(group);
    steps->seconds_.resize(numbers.size(), 0);
    steps->bytes_.resize(numbers.size(), 0);
    const parallel::WorkloadNode& node = steps->workload_.nodes[k];
    steps->seconds_[group] += node.seconds[0];
    steps->bytes_[group] += node.bytes;
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
  steps->simulator_ =
      std::make_unique<parallel::StepSimulator>(steps->workload_, steps->cluster_, std::vector<std::uint32_t>(step.nodes.size(), 0));
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
