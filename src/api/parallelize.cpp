#include "xflow/parallelize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "src/api/cluster_costs.h"
#include "src/api/cluster_model.h"
#include "src/api/plan_folder.h"
#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document_writer.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/plan_annotations.h"
#include "src/parallel/plan_check.h"
#include "src/parallel/split_bound.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_pipeline.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_workload.h"
#include "src/parallel/step_simulator.h"
#include "src/parallel/step_use.h"
#include "src/support/exceptions.h"
#include "src/support/printable.h"

namespace xflow {
namespace {

using parallel::DeviceCluster;
using parallel::SplitModel;
using parallel::SplitPlan;

std::string_view name_of(parallel::SplitNodeKind kind) {
  switch (kind) {
    case parallel::SplitNodeKind::forward:
      return "";
    case parallel::SplitNodeKind::reduce:
      return ", sum";
    case parallel::SplitNodeKind::backward:
      return ", gradient";
    case parallel::SplitNodeKind::reduce_gradient:
      return ", sum of gradients";
    case parallel::SplitNodeKind::update:
      return ", update";
  }
  return "";
}

// The nodes of the document by the names that people give them.
class NodeNames {
 public:
  explicit NodeNames(const onnx_io::Document& document) : document_(document) {
    for (const onnx_io::Node& node : document.nodes(document.main().id)) ++names_[node.name];
  }
  // Empty for a name that several nodes have.
  std::string unique(onnx_io::NodeId id) const {
    const std::string_view name = document_.node(id).name;
    return name.empty() || names_.at(name) > 1 ? std::string() : std::string(name);
  }
  std::size_t number(onnx_io::NodeId id) const { return onnx_io::index(id) - document_.main().first_node; }
  std::string shown(onnx_io::NodeId id) const {
    const onnx_io::Node& node = document_.node(id);
    return node.name.empty() ? fmt::format("{} {}", node.op_type, number(id)) : std::string(node.name);
  }

 private:
  const onnx_io::Document& document_;
  std::map<std::string_view, std::size_t> names_;
};

ParallelNode node_of(const onnx_io::Document& document, const NodeNames& names, onnx_io::NodeId id, const parallel::OperatorPlan& plan) {
  ParallelNode node{names.unique(id), names.number(id), std::string(document.node(id).op_type), {}, {}};
  for (const parallel::Split& split : plan.splits) {
    int axis = static_cast<int>(split.dimension);
    if (split.target == parallel::SplitTarget::reduction) axis = -1;
    if (split.target == parallel::SplitTarget::copies) axis = -2;
    node.splits.push_back({axis, split.degree, split.stride});
  }
  for (std::uint32_t part = 0; part < plan.parts(); ++part) node.devices.push_back(plan.device(part));
  return node;
}

// The operators of a model, by task.
std::vector<parallel::OperatorSource> sources_of(const onnx_io::Document& document, const parallel::ModelTasks& tasks) {
  std::vector<parallel::OperatorSource> sources;
  sources.reserve(tasks.nodes.size());
  for (const onnx_io::NodeId id : tasks.nodes) sources.push_back({std::string(document.node(id).op_type), describe(document, id), {}});
  for (const ir::NodeId id : tasks.order)
    if (const auto task = tasks.task_of.find(id); task != tasks.task_of.end()) sources[task->second].operations.push_back(id);
  return sources;
}

SimulationResult simulation_of(const onnx_io::Document& document, const NodeNames& names, std::span<const onnx_io::NodeId> nodes,
                               const SplitModel& model, const DeviceCluster& cluster, const parallel::SplitStep& step) {
  const parallel::StepSimulator simulator(step.workload, cluster, step.devices);
  SimulationResult result;
  result.cluster = cluster.name;
  result.step = Seconds(simulator.step());
  const parallel::StepUse use = parallel::use_of(step.workload, cluster, simulator);
  std::vector<std::size_t> parts(cluster.size(), 0);
  for (std::size_t node = 0; node < step.nodes.size(); ++node)
    if (step.nodes[node].kind == parallel::SplitNodeKind::forward) ++parts[step.devices[node]];
  for (std::size_t k = 0; k < cluster.devices.size(); ++k) {
    const parallel::ClusterDevice& device = cluster.devices[k];
    result.devices.push_back({device.name, device.kind, device.host, parts[k], Seconds(use.devices[k].busy), use.devices[k].resident,
                              use.devices[k].peak, device.memory});
  }
  for (const parallel::LinkUse& link : use.links)
    result.links.push_back({link.from, link.to, link.transfers, link.bytes, Seconds(link.busy)});
  for (std::uint32_t host = 0; host < cluster.hosts; ++host)
    if (use.ports[host] > 0) result.ports.push_back({host, Seconds(use.ports[host])});
  const auto shown = [&](std::uint32_t node) {
    return names.shown(nodes[step.nodes[node].op]) + std::string(name_of(step.nodes[node].kind));
  };
  for (const parallel::TaskRun& run : simulator.runs()) {
    const std::uint32_t source = run.is_transfer ? step.workload.tensors[run.item].source : run.item;
    if (!run.is_transfer && run.end == run.start) continue;
    result.tasks.push_back({shown(source), run.is_transfer, run.device, step.devices[source], Seconds(run.start), Seconds(run.end)});
  }
  for (const auto& [op, reason] : model.estimated())
    result.estimated.emplace_back(describe(document, nodes[op]), onnx_io::printable(reason));
  return result;
}

ParallelStop stop_of(PlacementStop stop) {
  switch (stop) {
    case PlacementStop::steps:
      return ParallelStop::steps;
    case PlacementStop::time_limit:
      return ParallelStop::time_limit;
    case PlacementStop::cancelled:
      return ParallelStop::cancelled;
    case PlacementStop::optimal:
      return ParallelStop::optimal;
    case PlacementStop::finished:
      break;
  }
  return ParallelStop::finished;
}

// Sets how the plan was found, and returns it.
Result<SplitPlan> search(SplitModel& model, const DeviceCluster& cluster, const ParallelizeOptions& options, ParallelizeResult& result) {
  if (options.objective == ParallelObjective::throughput) {
    PlaceOptions place;
    place.budget = options.budget;
    place.steps = options.steps;
    place.seed = options.seed;
    place.cancel = options.cancel;
    XFLOW_TRY(parallel::FoundPipeline found, parallel::search_pipeline(model, cluster, place));
    result.pipeline = PlannedPipeline{found.placement.value, found.placement.bound};
    result.start = to_string(found.placement.method);
    result.proposals = found.placement.steps;
    result.stop = stop_of(found.placement.stop);
    return std::move(found.plan);
  }
  parallel::SplitSearchOptions own;
  own.kind = options.objective == ParallelObjective::latency ? parallel::StepKind::inference : parallel::StepKind::training;
  own.seed = options.seed;
  if (options.progress) own.progress = [&](std::uint64_t proposals, double step) { options.progress(proposals, Seconds(step)); };
  if (const auto bound = parallel::step_bound(model, cluster, own.kind)) {
    result.bound = Seconds(bound->seconds);
    own.bound = bound->seconds;
  }
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, 1);
  parallel::FoundSplit found = parallel::search_split(model, cluster, own, budget);
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  result.start = found.best_start;
  for (const auto& [name, step] : found.starts) result.starts.emplace_back(name, Seconds(step));
  result.proposals = found.proposals;
  result.accepted = found.accepted;
  result.stop = found.is_optimal ? ParallelStop::optimal : stop_of(budget.stop().value_or(PlacementStop::finished));
  return std::move(found.plan);
}

Result<void> write_plan(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, std::span<const onnx_io::NodeId> nodes,
                        const SplitModel& model, const SplitPlan& plan, const DeviceCluster& cluster, const std::string& out) {
  onnx_io::DeviceConfiguration configuration{cluster.name, static_cast<std::int64_t>(cluster.size())};
  for (const parallel::ClusterDevice& device : cluster.devices) configuration.devices.push_back(device.name);
  XFLOW_TRY(const auto annotations, parallel::plan_annotations(document, nodes, lifted.values, model, plan, std::move(configuration)));
  XFLOW_TRY(const onnx_io::Document written, parallel::annotated_document(document, annotations));
  XFLOW_CHECK(write_document(written, {}, out));
  return {};
}

Result<ParallelizeResult> parallelize_file(const std::string& path, const ParallelizeOptions& options) {
  XFLOW_TRY(DeviceCluster cluster, api::find_cluster(options.cluster));
  if (options.devices) {
    if (*options.devices < 1 || *options.devices > cluster.size())
      return fail(ErrorCode::invalid_argument, fmt::format("{} devices of a cluster of {}", *options.devices, cluster.size()));
    cluster.devices.resize(*options.devices);
    // Hosts of devices may be in any order.
    cluster.hosts = std::ranges::max(cluster.devices, {}, &parallel::ClusterDevice::host).host + 1;
  }
  const api::ClusterCostOptions costs{options.cluster, options.cost_database, options.warning};
  XFLOW_TRY(const auto model, api::ClusterModel::open(path, options.shapes, options.allow_external, cluster, costs));
  const onnx_io::Document& document = model->document();
  const parallel::ModelTasks tasks = parallel::tasks_of(document, model->lifted(), model->arena());
  XFLOW_TRY(const auto split,
            SplitModel::of(model->arena(), model->lifted().graph, sources_of(document, tasks), model->sizes(), model->costs()));
  if (!options.out_model.empty()) split->require_equal_parts();
  ParallelizeResult result;
  result.objective = options.objective;
  result.seed = options.seed;
  XFLOW_TRY(const SplitPlan plan, search(*split, cluster, options, result));
  const NodeNames names(document);
  for (std::size_t op = 0; op < plan.size(); ++op) result.nodes.push_back(node_of(document, names, tasks.nodes[op], plan[op]));
  const auto kind = options.objective == ParallelObjective::training_step ? parallel::StepKind::training : parallel::StepKind::inference;
  result.claims = split->claims();
  result.proved = split->proved();
  result.simulation = simulation_of(document, names, tasks.nodes, *split, cluster, parallel::step_of(*split, plan, cluster, kind));
  if (!options.out_model.empty()) XFLOW_CHECK(write_plan(document, model->lifted(), tasks.nodes, *split, plan, cluster, options.out_model));
  if (!options.out_parts.empty()) XFLOW_CHECK(api::write_plan_folder(path, model->lifted(), *split, plan, cluster, options.out_parts));
  result.simulation.plan = to_string(options.objective);
  result.simulation.assumed_sizes = model->assumed();
  return result;
}

}  // namespace

Result<ParallelizeResult> parallelize(const std::string& model, const ParallelizeOptions& options) {
  return api::guarded<ParallelizeResult>([&] { return parallelize_file(model, options); });
}

}  // namespace xflow
