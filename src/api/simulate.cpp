#include "xflow/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "src/api/cluster_costs.h"
#include "src/api/cluster_model.h"
#include "src/api/split_simulation.h"
#include "src/parallel/cluster.h"
#include "src/parallel/configured_plan.h"
#include "src/parallel/device_plan.h"
#include "src/parallel/model_workload.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/step_use.h"
#include "src/support/exceptions.h"
#include "src/support/file.h"
#include "src/support/printable.h"

namespace xflow {
namespace {

using parallel::ClusterDevice;
using parallel::DeviceCluster;

// The device of each task.
Result<std::vector<std::uint32_t>> place_tasks(const onnx_io::Document& document, const parallel::ModelWorkload& model,
                                               const DeviceCluster& cluster, const SimulateOptions& options) {
  if (options.plan.empty()) {
    switch (options.policy.value_or(PlanPolicy::single)) {
      case PlanPolicy::single:
        break;
      case PlanPolicy::round_robin:
        return parallel::round_robin_plan(model.workload, cluster.size());
      case PlanPolicy::chain:
        return parallel::chain_plan(model.workload, cluster.size());
    }
    return std::vector<std::uint32_t>(model.nodes.size(), 0);
  }
  XFLOW_TRY(const auto file, onnx_io::FileBytes::open(options.plan));
  std::vector<std::string_view> names;
  for (const onnx_io::Node& node : document.nodes(document.main().id)) names.push_back(node.name);
  XFLOW_TRY(const auto planned, parallel::read_plan(file->bytes(), options.plan, names, cluster));
  std::vector<std::uint32_t> devices;
  for (const onnx_io::NodeId node : model.nodes) {
    const auto device = planned[onnx_io::index(node) - document.main().first_node];
    if (!device)
      return fail(ErrorCode::unsupported, fmt::format("{} has no device, and the plan has no 'default'", describe(document, node)),
                  options.plan);
    devices.push_back(*device);
  }
  return devices;
}

// The nodes that are tasks. A name that several nodes of the graph have says nothing.
std::vector<PlannedNode> planned_nodes(const onnx_io::Document& document, const parallel::ModelWorkload& model,
                                       std::span<const std::uint32_t> devices) {
  std::map<std::string_view, std::size_t> names;
  for (const onnx_io::Node& node : document.nodes(document.main().id)) ++names[node.name];
  std::vector<PlannedNode> nodes;
  for (std::size_t task = 0; task < model.nodes.size(); ++task) {
    const onnx_io::Node& node = document.node(model.nodes[task]);
    PlannedNode planned{{}, onnx_io::index(node.id) - document.main().first_node, std::string(node.op_type), devices[task]};
    if (!node.name.empty() && names[node.name] == 1) planned.name = node.name;
    nodes.push_back(std::move(planned));
  }
  return nodes;
}

std::string task_name(const onnx_io::Document& document, onnx_io::NodeId id) {
  const onnx_io::Node& node = document.node(id);
  if (!node.name.empty()) return std::string(node.name);
  return fmt::format("{} {}", node.op_type, onnx_io::index(id) - document.main().first_node);
}

SimulationResult result_of(const onnx_io::Document& document, const parallel::ModelWorkload& model, const DeviceCluster& cluster,
                           const parallel::StepSimulator& simulator) {
  SimulationResult result;
  result.cluster = cluster.name;
  result.step = Seconds(simulator.step());
  const parallel::StepUse use = parallel::use_of(model.workload, cluster, simulator);
  for (std::size_t k = 0; k < cluster.devices.size(); ++k) {
    const ClusterDevice& device = cluster.devices[k];
    const auto nodes = static_cast<std::size_t>(std::ranges::count(simulator.devices(), k));
    result.devices.push_back({device.name, device.kind, device.host, nodes, Seconds(use.devices[k].busy), use.devices[k].resident,
                              use.devices[k].peak, device.memory});
  }
  for (const parallel::LinkUse& link : use.links)
    result.links.push_back({link.from, link.to, link.transfers, link.bytes, Seconds(link.busy)});
  for (std::uint32_t host = 0; host < cluster.hosts; ++host) {
    if (use.ports[host] > 0) result.ports.push_back({host, Seconds(use.ports[host])});
  }
  for (const parallel::TaskRun& run : simulator.runs()) {
    const std::size_t from = run.is_transfer ? simulator.devices()[model.workload.tensors[run.item].source] : run.device;
    result.tasks.push_back({run.is_transfer ? model.tensors[run.item] : task_name(document, model.nodes[run.item]), run.is_transfer,
                            run.device, from, Seconds(run.start), Seconds(run.end)});
  }
  result.nodes = planned_nodes(document, model, simulator.devices());
  result.without_kernel = model.without_kernel.size();
  for (const parallel::EstimatedTask& estimated : model.estimated)
    result.estimated.emplace_back(describe(document, model.nodes[estimated.task]), onnx_io::printable(estimated.reason));
  return result;
}

Result<SimulationResult> simulate_file(const std::string& path, const SimulateOptions& options) {
  XFLOW_TRY(const DeviceCluster cluster, api::find_cluster(options.cluster));
  const api::ClusterCostOptions costs{options.cluster, options.cost_database, options.warning};
  XFLOW_TRY(const auto model, api::ClusterModel::open(path, options.shapes, options.allow_external, cluster, costs));
  const onnx_io::Document& document = model->document();
  std::optional<parallel::ConfiguredPlan> configured;
  if (options.plan.empty() && !options.policy) {
    XFLOW_TRY(configured, parallel::ConfiguredPlan::read(document, cluster));
  }
  const auto named = [&](SimulationResult result) {
    result.plan = options.plan.empty() ? to_string(options.policy.value_or(PlanPolicy::single)) : options.plan;
    if (configured) result.plan = fmt::format("configuration {} of the model", onnx_io::in_quotes(configured->name()));
    result.assumed_sizes = model->assumed();
    return result;
  };
  XFLOW_TRY(const parallel::ModelWorkload workload,
            parallel::workload_of(document, model->lifted(), model->arena(), model->sizes(), model->costs()));
  std::vector<std::uint32_t> devices;
  if (configured) {
    XFLOW_TRY(auto whole, configured->whole_devices(document, workload.nodes));
    if (!whole) {
      XFLOW_TRY(SimulationResult result, api::split_simulation(*model, *configured, cluster));
      return named(std::move(result));
    }
    devices = *std::move(whole);
  } else {
    XFLOW_TRY(devices, place_tasks(document, workload, cluster, options));
  }
  const parallel::StepSimulator simulator(workload.workload, cluster, std::move(devices));
  return named(result_of(document, workload, cluster, simulator));
}

}  // namespace

std::vector<std::string> cluster_names() { return parallel::cluster_presets(); }

Result<SimulationResult> simulate(const std::string& model, const SimulateOptions& options) {
  return api::guarded<SimulationResult>([&] { return simulate_file(model, options); });
}

}  // namespace xflow
