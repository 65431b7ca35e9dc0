#include "src/api/split_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "src/parallel/step_simulator.h"
#include "src/parallel/step_use.h"
#include "src/support/printable.h"

namespace xflow::api {
namespace {

using parallel::ClusterDevice;
using parallel::SplitNodeKind;

std::string_view suffix_of(SplitNodeKind kind) {
  switch (kind) {
    case SplitNodeKind::forward:
      return "";
    case SplitNodeKind::reduce:
      return ", sum";
    case SplitNodeKind::backward:
      return ", gradient";
    case SplitNodeKind::reduce_gradient:
      return ", sum of gradients";
    case SplitNodeKind::update:
      return ", update";
  }
  return "";
}

// The name of a node for people: "conv1", or "Conv 3" for a node without a name.
std::string shown_name(const onnx_io::Document& document, onnx_io::NodeId id) {
  const onnx_io::Node& node = document.node(id);
  return node.name.empty() ? fmt::format("{} {}", node.op_type, onnx_io::index(id) - document.main().first_node) : std::string(node.name);
}

}  // namespace

std::vector<parallel::OperatorSource> operator_sources(const onnx_io::Document& document, const parallel::ModelTasks& tasks) {
  std::vector<parallel::OperatorSource> sources;
  sources.reserve(tasks.nodes.size());
  for (const onnx_io::NodeId id : tasks.nodes) sources.push_back({std::string(document.node(id).op_type), describe(document, id), {}});
  for (const ir::NodeId id : tasks.order)
    if (const auto task = tasks.task_of.find(id); task != tasks.task_of.end()) sources[task->second].operations.push_back(id);
  return sources;
}

SimulationResult simulation_of(const onnx_io::Document& document, std::span<const onnx_io::NodeId> nodes, const parallel::SplitModel& model,
                               const parallel::DeviceCluster& cluster, const parallel::SplitStep& step) {
  const parallel::StepSimulator simulator(step.workload, cluster, step.devices);
  const parallel::StepUse use = parallel::use_of(step.workload, cluster, simulator);
  SimulationResult result;
  result.cluster = cluster.name;
  result.step = Seconds(simulator.step());
  std::vector<std::size_t> parts(cluster.size(), 0);
  for (std::size_t node = 0; node < step.nodes.size(); ++node)
    if (step.nodes[node].kind == SplitNodeKind::forward) ++parts[step.devices[node]];
  for (std::size_t k = 0; k < cluster.devices.size(); ++k) {
    const ClusterDevice& device = cluster.devices[k];
    result.devices.push_back({device.name, device.kind, device.host, parts[k], Seconds(use.devices[k].busy), use.devices[k].resident,
                              use.devices[k].peak, device.memory});
  }
  for (const parallel::LinkUse& link : use.links)
    result.links.push_back({link.from, link.to, link.transfers, link.bytes, Seconds(link.busy)});
  for (std::uint32_t host = 0; host < cluster.hosts; ++host)
    if (use.ports[host] > 0) result.ports.push_back({host, Seconds(use.ports[host])});
  for (const parallel::TaskRun& run : simulator.runs()) {
    if (!run.is_transfer && run.end == run.start) continue;
    const std::uint32_t source = run.is_transfer ? step.workload.tensors[run.item].source : run.item;
    const parallel::SplitNode& node = step.nodes[source];
    result.tasks.push_back({shown_name(document, nodes[node.op]) + std::string(suffix_of(node.kind)), run.is_transfer, run.device,
                            step.devices[source], Seconds(run.start), Seconds(run.end)});
  }
  for (const auto& [op, reason] : model.estimated())
    result.estimated.emplace_back(describe(document, nodes[op]), onnx_io::printable(reason));
  return result;
}

Result<SimulationResult> split_simulation(ClusterModel& model, const parallel::ConfiguredPlan& configured,
                                          const parallel::DeviceCluster& cluster) {
  const onnx_io::Document& document = model.document();
  const parallel::ModelTasks tasks = parallel::tasks_of(document, model.lifted(), model.arena());
  XFLOW_TRY(const auto split,
            parallel::SplitModel::of(model.arena(), model.lifted().graph, operator_sources(document, tasks), model.sizes(), model.costs()));
  XFLOW_TRY(const parallel::SplitPlan plan, configured.split_plan(document, tasks.nodes, model.lifted().values, *split));
  const parallel::SplitStep step = parallel::step_of(*split, plan, cluster, parallel::StepKind::inference);
  SimulationResult result = simulation_of(document, tasks.nodes, *split, cluster, step);
  const auto on_several = [](const parallel::OperatorPlan& own) { return own.parts() > 1; };
  result.divided = DividedNodes{plan.size(), static_cast<std::size_t>(std::ranges::count_if(plan, on_several))};
  result.without_kernel = tasks.without_kernel.size();
  return result;
}

}  // namespace xflow::api
