#include "src/parallel/ordered_bound.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

namespace xflow::parallel {

double ordered_bound(const OrderedProblem& problem, bool fuses) {
  const Workload& workload = problem.workload;
  const std::size_t count = workload.nodes.size();
  std::vector<double> seconds(count);
  for (std::size_t k = 0; k < count; ++k) seconds[k] = *std::ranges::min_element(workload.nodes[k].seconds);
  // Nodes that may be one task, by its last node, and what some of them save beyond their own seconds: such
  // a task may be as much shorter than the nodes of a path in it.
  std::vector<std::uint32_t> task(count);
  std::iota(task.begin(), task.end(), 0);
  std::vector<double> excess(count, 0);
  if (fuses) {
    std::vector<FusionChoice> choices;
    std::ranges::copy_if(problem.fusions, std::back_inserter(choices), [](const FusionChoice& choice) { return choice.saved > 0; });
    std::ranges::sort(choices, std::ranges::greater(), &FusionChoice::node);
    for (const FusionChoice& choice : choices) {
      task[choice.node] = task[choice.into];
      seconds[choice.node] -= choice.saved;
      excess[task[choice.node]] += std::max(0.0, -seconds[choice.node]);
    }
  }
  double work = 0;
  for (const double own : seconds) work += own;
  // Longest paths to the begin of each node.
  std::vector<double> begin(count, 0);
  double longest = 0;
  std::size_t tensor = 0;
  for (std::uint32_t node = 0; node < count; ++node) {
    const double end = begin[node] + std::max(0.0, seconds[node] - excess[task[node]]);
    longest = std::max(longest, end);
    for (; tensor < workload.tensors.size() && workload.tensors[tensor].source == node; ++tensor) {
      for (const std::uint32_t reader : workload.tensors[tensor].readers) begin[reader] = std::max(begin[reader], end);
    }
  }
  return std::max(longest, work / problem.cluster.size());
}

double bound_from(const OrderedProblem& problem, const OrderedPlan& start, bool fuses) {
  const bool has_fusions = std::ranges::find(start.fused, true) != start.fused.end();
  return ordered_bound(problem, fuses || has_fusions);
}

}  // namespace xflow::parallel
