#include "src/parallel/step_numbers.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace xflow::parallel {

void number_nodes(SplitStep& step, std::span<const std::uint32_t> positions) {
  if (positions.empty()) return;
  SplitStep made;
  made.workload.nodes.resize(positions.size());
  made.devices.resize(positions.size());
  made.nodes.resize(positions.size());
  for (std::size_t node = 0; node < positions.size(); ++node) {
    made.workload.nodes[positions[node]] = std::move(step.workload.nodes[node]);
    made.devices[positions[node]] = step.devices[node];
    made.nodes[positions[node]] = step.nodes[node];
  }
  auto& tensors = step.workload.tensors;
  for (WorkloadTensor& tensor : tensors) {
    tensor.source = positions[tensor.source];
    for (std::uint32_t& reader : tensor.readers) reader = positions[reader];
    std::ranges::sort(tensor.readers);
  }
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t tensor) { return tensors[tensor].source; });
  for (const std::size_t tensor : order) {
    made.workload.tensors.push_back(std::move(tensors[tensor]));
    made.values.push_back(step.values[tensor]);
  }
  step = std::move(made);
}

}  // namespace xflow::parallel
