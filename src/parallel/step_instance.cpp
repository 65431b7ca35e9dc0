#include "src/parallel/step_instance.h"

#include <algorithm>
#include <utility>

#include "src/parallel/ordering.h"

namespace xflow::parallel {
namespace {

constexpr double kSecond = 1e3;  // in milliseconds
constexpr double kMillisecond = 1 / kSecond;
constexpr double kSlowerOnCpu = 20;

}  // namespace

Result<StepInstance> step_instance(const PlacementInstance& instance, const DeviceCluster& cluster, const std::string& where) {
  const auto count = static_cast<std::uint32_t>(instance.nodes.size());
  StepInstance result;
  result.nodes = topological_order(count, instance.edges);
  if (result.nodes.size() < count) return fail(ErrorCode::unsupported, "nodes read each other, so that there is no step", where);
  std::vector<std::uint32_t> position(count);
  for (std::uint32_t k = 0; k < count; ++k) position[result.nodes[k]] = k;
  std::vector<std::vector<std::uint32_t>> readers(count);
  for (const auto& [from, to] : instance.edges) readers[position[from]].push_back(position[to]);
  result.workload.nodes.reserve(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    const PlacementNode& node = instance.nodes[result.nodes[k]];
    const double seconds = kMillisecond * (node.on_accelerator ? node.accelerator_time : node.cpu_time);
    result.workload.nodes.push_back({std::vector<double>(cluster.size(), seconds), node.bytes});
    if (readers[k].empty()) continue;
    const double transfer = kMillisecond * instance.output_cost[result.nodes[k]];
    std::ranges::sort(readers[k]);
    result.workload.tensors.push_back(
        {k, std::max(0.0, transfer - cluster.inside.latency) * cluster.inside.bandwidth, std::move(readers[k])});
  }
  result.fusions.reserve(instance.fusions.size());
  for (const PlacementFusion& fusion : instance.fusions)
    result.fusions.push_back({position[fusion.node], position[fusion.into], kMillisecond * fusion.saved});
  XFLOW_CHECK(check_workload(result.workload, cluster.size()));
  XFLOW_CHECK(check_fusions(result.workload, result.fusions));
  return result;
}

PlacementInstance instance_of(const LargeGraph& graph, const DeviceCluster& cluster) {
  PlacementInstance instance;
  instance.accelerators = cluster.size();
  instance.cpus = 1;
  instance.memory = cluster.devices[0].memory;
  const std::size_t count = graph.workload.nodes.size();
  instance.nodes.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const WorkloadNode& node = graph.workload.nodes[k];
    const double time = kSecond * node.seconds[0];
    instance.nodes.push_back(
        {.id = static_cast<std::int64_t>(k), .cpu_time = kSlowerOnCpu * time, .accelerator_time = time, .bytes = node.bytes});
  }
  instance.output_cost.assign(count, 0);
  for (const WorkloadTensor& tensor : graph.workload.tensors) {
    if (!tensor.readers.empty()) instance.output_cost[tensor.source] = kSecond * cluster.inside.seconds(tensor.bytes);
    for (const std::uint32_t reader : tensor.readers) instance.edges.push_back({tensor.source, reader});
  }
  std::ranges::sort(instance.edges);
  instance.fusions.reserve(graph.fusions.size());
  for (const FusionChoice& fusion : graph.fusions) instance.fusions.push_back({fusion.node, fusion.into, kSecond * fusion.saved});
  return instance;
}

}  // namespace xflow::parallel
