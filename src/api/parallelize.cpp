#include "xflow/parallelize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "src/api/cluster_costs.h"
#include "src/api/cluster_model.h"
#include "src/api/joint_search.h"
#include "src/api/measured_step.h"
#include "src/api/placed_operators.h"
#include "src/api/plan_folder.h"
#include "src/api/split_simulation.h"
#include "src/onnx/document/device_annotations.h"
#include "src/onnx/document/document_writer.h"
#include "src/parallel/kept_nodes.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/plan_annotations.h"
#include "src/parallel/plan_check.h"
#include "src/parallel/split_bound.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_pipeline.h"
#include "src/parallel/split_search.h"
#include "src/parallel/split_workload.h"
#include "src/policy/policy_file.h"
#include "src/policy/policy_placement.h"
#include "src/support/exceptions.h"

namespace xflow {
namespace {

using parallel::DeviceCluster;
using parallel::SplitModel;
using parallel::SplitPlan;

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

 private:
  const onnx_io::Document& document_;
  std::map<std::string_view, std::size_t> names_;
};

// PlannedSplit::axis of a reduction.
int axis_of(partition::AxisKind reduction) {
  if (reduction == partition::AxisKind::maximum) return -3;
  return reduction == partition::AxisKind::minimum ? -4 : -1;
}

ParallelNode node_of(const onnx_io::Document& document, const NodeNames& names, onnx_io::NodeId id, const parallel::OperatorPlan& plan,
                     partition::AxisKind reduction) {
  ParallelNode node{names.unique(id), names.number(id), std::string(document.node(id).op_type), {}, {}};
  for (const parallel::Split& split : plan.splits) {
    int axis = static_cast<int>(split.dimension);
    if (split.target == parallel::SplitTarget::reduction) axis = axis_of(reduction);
    if (split.target == parallel::SplitTarget::copies) axis = -2;
    node.splits.push_back({axis, split.degree, split.stride});
  }
  const parallel::OperatorPlan by_device = plan.by_device();
  for (std::uint32_t part = 0; part < by_device.parts(); ++part) node.devices.push_back(by_device.device(part));
  return node;
}

parallel::StepKind kind_of(const ParallelizeOptions& options) {
  return options.objective == ParallelObjective::training_step ? parallel::StepKind::training : parallel::StepKind::inference;
}

// Sets how the plan was found, and returns it. `measure` runs a plan; null: steps are simulated.
Result<SplitPlan> search(SplitModel& model, const DeviceCluster& cluster, const ParallelizeOptions& options, policy::MeasureStep measure,
                         ParallelizeResult& result) {
  if (options.objective == ParallelObjective::throughput) {
    PlaceOptions place;
    place.budget = options.budget;
    place.steps = options.steps;
    place.seed = options.seed;
    place.cancel = options.cancel;
    place.policy = options.policy;
    place.search_after = options.search_after;
    const auto placer = [](const parallel::PlacementInstance& instance, const PlaceOptions& own) {
      return policy::place(instance, own, {});
    };
    XFLOW_TRY(parallel::FoundPipeline found, parallel::search_pipeline(model, cluster, place, placer));
    result.pipeline = PlannedPipeline{found.placement.value, found.placement.bound};
    result.start = to_string(found.placement.method);
    result.proposals = found.placement.steps;
    result.stop = api::stop_of(found.placement.stop);
    return std::move(found.plan);
  }
  if (options.method != ParallelMethod::automatic)
    return api::place_operators(model, cluster, options, kind_of(options), std::move(measure), result);
  parallel::SplitSearchOptions own;
  own.kind = kind_of(options);
  own.seed = options.seed;
  if (options.progress) own.progress = [&](std::uint64_t proposals, double step) { options.progress(proposals, Seconds(step)); };
  if (const auto bound = parallel::step_bound(model, cluster, own.kind)) {
    result.bound = Seconds(bound->seconds);
    own.bound = bound->seconds;
  }
  const auto begin = std::chrono::steady_clock::now();
  constexpr Seconds kTimeToLearn{60};
  constexpr double kShareToLearn = 0.9;
  // A number of steps does not say how long a method may take.
  if (!options.steps && options.budget >= kTimeToLearn) {
    own.other_plan = [&](const parallel::FoundSplit& so_far) {
      const Seconds time = kShareToLearn * options.budget - Seconds(std::chrono::steady_clock::now() - begin);
      return api::learned_plan(model, cluster, options, own.kind, so_far, time);
    };
  }
  parallel::SearchBudget budget(options.budget, options.steps, options.cancel, 1);
  parallel::FoundSplit found = parallel::search_split(model, cluster, own, budget);
  if (options.cancel.is_stopping()) return fail(ErrorCode::limit, "cancelled");
  result.start = found.best_start;
  for (const auto& [name, step] : found.starts) result.starts.emplace_back(name, Seconds(step));
  result.untried_starts = found.untried;
  result.proposals = found.proposals;
  result.accepted = found.accepted;
  result.stop = found.is_optimal ? ParallelStop::optimal : api::stop_of(budget.stop().value_or(PlacementStop::finished));
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

Result<DeviceCluster> cluster_of(const ParallelizeOptions& options) {
  XFLOW_TRY(DeviceCluster cluster, api::find_cluster(options.cluster));
  if (!options.devices) return cluster;
  if (*options.devices < 1 || *options.devices > cluster.size())
    return fail(ErrorCode::invalid_argument, fmt::format("{} devices of a cluster of {}", *options.devices, cluster.size()));
  cluster.devices.resize(*options.devices);
  // Hosts of devices may be in any order.
  cluster.hosts = std::ranges::max(cluster.devices, {}, &parallel::ClusterDevice::host).host + 1;
  return cluster;
}

// A model with its plan, and how that was found.
struct PlannedModel {
  std::unique_ptr<api::ClusterModel> model;
  parallel::ModelTasks tasks;
  std::unique_ptr<SplitModel> split;
  SplitPlan plan;
  ParallelizeResult result;
};

bool is_measured(const ParallelizeOptions& options) { return options.reward == ParallelReward::measured; }
bool writes_parts(const ParallelizeOptions& options) { return !options.out_parts.empty() || is_measured(options); }

// The operators of a model. Parts have some of them as they are.
std::vector<parallel::OperatorSource> sources_of(const PlannedModel& planned, const ParallelizeOptions& options) {
  const api::ClusterModel& model = *planned.model;
  std::vector<parallel::OperatorSource> sources = api::operator_sources(model.document(), planned.tasks);
  if (!writes_parts(options)) return sources;
  const std::vector<bool> keep = parallel::tasks_to_keep(model.lifted(), model.arena(), planned.tasks, model.known_sizes());
  for (std::size_t task = 0; task < sources.size(); ++task) sources[task].is_kept = keep[task];
  return sources;
}

// `path` is that of the original model.
Result<PlannedModel> plan_model(const std::string& path, std::unique_ptr<api::ClusterModel> model, const DeviceCluster& cluster,
                                const ParallelizeOptions& options) {
  PlannedModel planned;
  planned.model = std::move(model);
  const onnx_io::Document& document = planned.model->document();
  planned.tasks = parallel::tasks_of(document, planned.model->lifted(), planned.model->arena());
  XFLOW_TRY(planned.split, SplitModel::of(planned.model->arena(), planned.model->lifted().graph, sources_of(planned, options),
                                          planned.model->sizes(), planned.model->costs()));
  if (!options.out_model.empty()) planned.split->require_equal_parts();
  if (writes_parts(options)) planned.split->require_opset(planned.model->lifted().opset);
  ParallelizeResult& result = planned.result;
  result.objective = options.objective;
  result.method = options.method;
  result.seed = options.seed;
  const auto measure = [&](int repeats) {
    return api::measured_step(*planned.model, path, planned.tasks, *planned.split, cluster, options, repeats);
  };
  constexpr int kRepeats = 9;         // of each plan
  constexpr int kRepeatsOfBest = 50;  // the best plan of many may have been lucky
  XFLOW_TRY(planned.plan,
            search(*planned.split, cluster, options, is_measured(options) ? measure(kRepeats) : policy::MeasureStep(), result));
  if (is_measured(options)) {
    XFLOW_TRY(const double step, measure(kRepeatsOfBest)(planned.plan));
    result.measured = Seconds(step);
  }
  const NodeNames names(document);
  for (std::size_t op = 0; op < planned.plan.size(); ++op) {
    const parallel::OperatorKind& kind = planned.split->kind(planned.split->operators()[op]);
    result.nodes.push_back(node_of(document, names, planned.tasks.nodes[op], planned.plan[op], kind.reduction_kind));
  }
  result.claims = planned.split->claims();
  result.proved = planned.split->proved();
  result.simulation = api::simulation_of(document, planned.tasks.nodes, *planned.split, cluster,
                                         parallel::step_of(*planned.split, planned.plan, cluster, kind_of(options)));
  result.simulation.plan = to_string(options.objective);
  result.simulation.assumed_sizes = planned.model->assumed();
  return planned;
}

// Replaces the model by a rewritten one if its plan is better.
Result<void> rewrite(const std::string& path, const DeviceCluster& cluster, const ParallelizeOptions& options, PlannedModel& planned) {
  api::ClusterModel& model = *planned.model;
  api::JointOptions joint;
  joint.kind = kind_of(options);
  joint.seed = options.seed;
  joint.budget = options.budget;
  joint.equal_parts = !options.out_model.empty();
  joint.writes_parts = !options.out_parts.empty();
  joint.cancel = options.cancel;
  joint.progress = options.progress;
  // With a number of proposals alone, that of graphs ends the search.
  constexpr std::uint64_t kGraphs = 100;
  constexpr std::uint64_t kProposals = 100;
  constexpr std::uint64_t kShare = 20;
  joint.graphs = options.steps ? kGraphs : std::numeric_limits<std::uint64_t>::max();
  joint.proposals = options.steps ? *options.steps / kShare : kProposals;
  XFLOW_TRY(const api::JointResult found, api::search_jointly(model, sources_of(planned, options), cluster, joint));
  ParallelRewrites rewrites;
  rewrites.step_before = planned.result.simulation.step;
  rewrites.graphs = found.graphs;
  rewrites.brief_before = Seconds(found.before);
  rewrites.brief_optimised = Seconds(found.optimised);
  rewrites.refused = found.refused;
  planned.result.rewrites = rewrites;
  if (!found.model || options.cancel.is_finishing()) return {};
  XFLOW_TRY(onnx_io::Document document, onnx_io::Document::parse(*found.model, model.document().origin()));
  XFLOW_TRY(auto rewritten, api::ClusterModel::with_document(model, std::move(document), options.shapes));
  XFLOW_TRY(PlannedModel other, plan_model(path, std::move(rewritten), cluster, options));
  const auto price = [](const PlannedModel& own) { return std::pair(!own.result.simulation.fits_memory(), own.result.simulation.step); };
  if (price(other) >= price(planned)) return {};
  rewrites.rules.assign(found.rules.begin(), found.rules.end());
  other.result.rewrites = std::move(rewrites);
  planned = std::move(other);
  return {};
}

// Refuses options that do not go together.
Result<void> check_options(const ParallelizeOptions& options) {
  const bool is_pipeline = options.objective == ParallelObjective::throughput;
  const auto refuse = [](std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); };
  if (options.rewrite && is_pipeline) return refuse("rewrites are searched for latency and training-step");
  if (options.policy.empty() && (options.method == ParallelMethod::placeto || options.method == ParallelMethod::go))
    return refuse(fmt::format("the method '{}' needs a policy", to_string(options.method)));
  if (!options.policy.empty() && (options.method == ParallelMethod::local || options.method == ParallelMethod::colocrl))
    return refuse(fmt::format("the method '{}' does not go with a policy", to_string(options.method)));
  const bool is_automatic = options.method == ParallelMethod::automatic;
  if (!is_automatic && is_pipeline)
    return refuse(fmt::format("the method '{}' does not go with the objective throughput", to_string(options.method)));
  if (!is_automatic && options.rewrite) return refuse(fmt::format("the method '{}' does not go with rewrites", to_string(options.method)));
  if (!is_measured(options)) return {};
  if (options.method != ParallelMethod::local && options.method != ParallelMethod::colocrl)
    return refuse("measured steps are for the methods local and colocrl");
  if (options.objective != ParallelObjective::latency) return refuse("measured steps are for the objective latency: plans are run forward");
  return {};
}

Result<ParallelizeResult> parallelize_file(const std::string& path, const ParallelizeOptions& given) {
  ParallelizeOptions options = given;
  if (!given.policy.empty() && given.method == ParallelMethod::automatic && given.objective != ParallelObjective::throughput) {
    XFLOW_TRY(const PolicyMethod method, policy::method_of_policy(given.policy));
    options.method = method == PolicyMethod::go ? ParallelMethod::go : ParallelMethod::placeto;
  }
  XFLOW_CHECK(check_options(options));
  XFLOW_TRY(const DeviceCluster cluster, cluster_of(given));
  const auto is_here = [](const parallel::ClusterDevice& device) { return device.source == parallel::TimeSource::cpu; };
  if (is_measured(given) && (cluster.hosts > 1 || !std::ranges::all_of(cluster.devices, is_here)))
    return fail(ErrorCode::invalid_argument, "measured steps need a cluster of CPUs of this machine, such as cpu-2", given.cluster);
  constexpr double kPhases = 3;
  if (options.rewrite) options.budget /= kPhases;
  const api::ClusterCostOptions costs{options.cluster, options.cost_database, options.warning};
  XFLOW_TRY(auto model, api::ClusterModel::open(path, options.shapes, options.allow_external, cluster, costs));
  XFLOW_TRY(PlannedModel planned, plan_model(path, std::move(model), cluster, options));
  if (options.rewrite) XFLOW_CHECK(rewrite(path, cluster, options, planned));
  const api::ClusterModel& chosen = *planned.model;
  if (!options.out_model.empty()) {
    XFLOW_CHECK(write_plan(chosen.document(), chosen.lifted(), planned.tasks.nodes, *planned.split, parallel::by_device(planned.plan),
                           cluster, options.out_model));
  }
  if (!options.out_parts.empty()) {
    const SplitPlan plan = parallel::by_device(planned.plan);
    XFLOW_CHECK(api::write_plan_folder({path, *planned.model, planned.tasks, *planned.split, plan}, cluster, options.out_parts,
                                       "xflow parallelize"));
  }
  return std::move(planned.result);
}

}  // namespace

Result<ParallelizeResult> parallelize(const std::string& model, const ParallelizeOptions& options) {
  return api::guarded<ParallelizeResult>([&] { return parallelize_file(model, options); });
}

}  // namespace xflow
