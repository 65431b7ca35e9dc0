#include "src/parallel/split_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "src/parallel/instance.h"

namespace xflow::parallel {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;

Result<void> check_devices_are_alike(const SplitModel& model, const DeviceCluster& cluster) {
  for (std::uint32_t k = 1; k < cluster.size(); ++k) {
    if (model.source_of(k) == model.source_of(0) && cluster.devices[k].memory == cluster.devices[0].memory) continue;
    return fail(ErrorCode::unsupported, fmt::format("the throughput of a pipeline needs devices that are alike; '{}' and '{}' are not",
                                                    cluster.devices[0].name, cluster.devices[k].name));
  }
  return {};
}

PlacementInstance instance_of(SplitModel& model, const DeviceCluster& cluster) {
  PlacementInstance instance;
  instance.accelerators = cluster.size();
  instance.memory = cluster.devices[0].memory;
  const auto seconds = [&](double bytes) {
    const double inside = cluster.inside.seconds(bytes);
    return cluster.hosts > 1 ? std::max(inside, cluster.across.seconds(bytes)) : inside;
  };
  std::set<PlacementEdge> edges;
  std::vector<double> sent(model.operators().size(), 0);
  std::vector<bool> is_read(model.values().size(), false);
  for (std::uint32_t number = 0; number < model.operators().size(); ++number) {
    const SplitOperator& op = model.operators()[number];
    PlacementNode node;
    node.id = number;
    if (!op.outputs.empty()) {
      const PartWork* work = model.part(number, model.values()[op.outputs[0]].whole, std::nullopt);
      node.accelerator_time = work->seconds[model.source_of(0)] * kMillisecondsPerSecond;
    }
    for (const std::uint32_t read : op.reads) {
      const SplitValue& value = model.values()[read];
      const double bytes = value.is_sized ? elements(value.whole) * value.element_bytes : 0;
      if (value.is_constant) node.bytes += bytes;
      if (value.maker == kNoOperator) continue;
      edges.insert({value.maker, number});
      if (!is_read[read]) sent[value.maker] += bytes;
      is_read[read] = true;
    }
    instance.nodes.push_back(node);
  }
  instance.edges.assign(edges.begin(), edges.end());
  instance.output_cost.assign(model.operators().size(), 0);
  for (const PlacementEdge& edge : instance.edges) instance.output_cost[edge.from] = seconds(sent[edge.from]) * kMillisecondsPerSecond;
  return instance;
}

}  // namespace

Result<FoundPipeline> search_pipeline(SplitModel& model, const DeviceCluster& cluster, const PlaceOptions& options, const Placer& place) {
  XFLOW_CHECK(check_devices_are_alike(model, cluster));
  FoundPipeline found;
  XFLOW_TRY(found.placement, place(instance_of(model, cluster), options));
  found.plan.resize(model.operators().size());
  for (std::uint32_t device = 0; device < found.placement.devices.size(); ++device)
    for (const std::int64_t op : found.placement.devices[device].nodes) found.plan[static_cast<std::size_t>(op)].base = device;
  return found;
}

}  // namespace xflow::parallel
