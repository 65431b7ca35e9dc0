#include "src/parallel/fused_workload.h"

#include <algorithm>

namespace xflow::parallel {

FusedWorkload fused_workload(const OrderedProblem& problem, const std::vector<bool>& fused) {
  const Workload& whole = problem.workload;
  const auto nodes = static_cast<std::uint32_t>(whole.nodes.size());
  constexpr std::uint32_t kRoot = UINT32_MAX;
  std::vector<std::uint32_t> choice_of(nodes, kRoot);
  for (std::uint32_t k = 0; k < problem.fusions.size(); ++k)
    if (fused[k]) choice_of[problem.fusions[k].node] = k;
  FusedWorkload result;
  result.task_of.resize(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (choice_of[node] != kRoot) continue;
    result.task_of[node] = static_cast<std::uint32_t>(result.workload.nodes.size());
    result.workload.nodes.push_back(whole.nodes[node]);
  }
  for (std::uint32_t node = nodes; node-- > 0;) {
    if (choice_of[node] == kRoot) continue;
    const FusionChoice& choice = problem.fusions[choice_of[node]];
    result.task_of[node] = result.task_of[choice.into];
    WorkloadNode& task = result.workload.nodes[result.task_of[node]];
    task.bytes += whole.nodes[node].bytes;
    for (std::size_t device = 0; device < task.seconds.size(); ++device)
      task.seconds[device] += whole.nodes[node].seconds[device] - choice.saved;
  }
  for (WorkloadNode& task : result.workload.nodes)
    for (double& seconds : task.seconds) seconds = std::max(seconds, 0.0);
  for (const WorkloadTensor& tensor : whole.tensors) {
    if (choice_of[tensor.source] != kRoot) continue;
    WorkloadTensor own{result.task_of[tensor.source], tensor.bytes, {}};
    for (const std::uint32_t reader : tensor.readers) own.readers.push_back(result.task_of[reader]);
    std::ranges::sort(own.readers);
    const auto repeated = std::unique(own.readers.begin(), own.readers.end());
    own.readers.erase(repeated, own.readers.end());
    result.workload.tensors.push_back(std::move(own));
  }
  return result;
}

std::vector<bool> chain_fusions(const OrderedProblem& problem) {
  std::vector<double> most(problem.workload.nodes.size(), 0);
  for (const FusionChoice& choice : problem.fusions) most[choice.into] = std::max(most[choice.into], choice.saved);
  std::vector<bool> fused(problem.fusions.size(), false);
  for (std::size_t k = 0; k < fused.size(); ++k) {
    double& saved = most[problem.fusions[k].into];
    if (saved <= 0 || problem.fusions[k].saved < saved) continue;
    fused[k] = true;
    saved = -1;  // taken
  }
  return fused;
}

}  // namespace xflow::parallel
