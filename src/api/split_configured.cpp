#include "src/api/split_configured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/api/cluster_model.h"
#include "src/api/plan_folder.h"
#include "src/api/split_simulation.h"
#include "src/onnx/document/device_annotations.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/configured_plan.h"
#include "src/parallel/kept_nodes.h"
#include "src/parallel/model_tasks.h"
#include "src/support/printable.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using parallel::ConfiguredPlan;
using parallel::DeviceCluster;

Result<ConfiguredPlan> configured_plan(const Document& document, const DeviceCluster& cluster) {
  XFLOW_TRY(auto configured, ConfiguredPlan::read(document, cluster));
  if (configured) return *std::move(configured);
  return fail(ErrorCode::unsupported, "the model has no multi-device configuration; give a plan", document.origin().name);
}

std::string origin_of(const ConfiguredPlan& plan) { return fmt::format("configuration {} of the model", onnx_io::in_quotes(plan.name())); }

}  // namespace

Result<DeviceCluster> configured_cluster(const Document& document, const std::string& name) {
  DeviceCluster cluster;
  if (!name.empty()) {
    XFLOW_TRY(cluster, parallel::open_cluster(name));
  } else {
    XFLOW_TRY(const onnx_io::DeviceAnnotations annotations, read_device_annotations(document));
    const auto& all = annotations.configurations;
    if (all.empty())
      return fail(ErrorCode::unsupported, "the model has no multi-device configuration; give a plan", document.origin().name);
    if (all.size() > 1) {
      std::vector<std::string> names;
      names.reserve(all.size());
      for (const onnx_io::DeviceConfiguration& own : all) names.push_back(onnx_io::in_quotes(own.name));
      return fail(ErrorCode::unsupported,
                  fmt::format("the model has the configurations {}; give a cluster with the name of one", fmt::join(names, ", ")),
                  document.origin().name);
    }
    cluster.name = all[0].name;
    // Faults are those of the configuration, which ConfiguredPlan::read finds.
    const auto count = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(all[0].num_devices.value_or(1), 1, static_cast<std::int64_t>(parallel::kMostClusterDevices)));
    // Names that are not unique name nothing; then devices are known by their numbers.
    const std::set<std::string> names(all[0].devices.begin(), all[0].devices.end());
    const bool are_named = names.size() == count && all[0].devices.size() == count && !names.contains("");
    for (std::uint32_t k = 0; k < count; ++k) {
      parallel::ClusterDevice device;
      device.name = are_named ? all[0].devices[k] : fmt::format("device{}", k);
      cluster.devices.push_back(std::move(device));
    }
  }
  for (parallel::ClusterDevice& device : cluster.devices) {
    device.source = parallel::TimeSource::roofline;
    device.rates = {0, 1, 1};
  }
  cluster.inside = cluster.across = {0, 1};
  return cluster;
}

Result<ConfiguredDevices> configured_devices(const Document& document, const DeviceCluster& cluster) {
  XFLOW_TRY(const ConfiguredPlan configured, configured_plan(document, cluster));
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel lifted, onnx_io::lift(document, arena, {.infer = true}));
  const parallel::ModelTasks tasks = parallel::tasks_of(document, lifted, arena);
  XFLOW_TRY(const auto whole, configured.whole_devices(document, tasks.nodes));
  if (!whole) return ConfiguredDevices{origin_of(configured), std::nullopt};
  std::vector<std::optional<std::uint32_t>> devices(document.main().node_count);
  for (std::size_t task = 0; task < tasks.nodes.size(); ++task)
    devices[onnx_io::index(tasks.nodes[task]) - document.main().first_node] = (*whole)[task];
  return ConfiguredDevices{origin_of(configured), std::move(devices)};
}

Result<PartManifest> split_configured(const std::string& path, const std::string& folder, const SplitOptions& options,
                                      const DeviceCluster& cluster) {
  const ClusterCostOptions costs{cluster.name, {}, {}};
  XFLOW_TRY(const auto model, ClusterModel::open(path, options.shapes, options.allow_external, cluster, costs));
  const Document& document = model->document();
  XFLOW_TRY(const ConfiguredPlan configured, configured_plan(document, cluster));
  const parallel::ModelTasks tasks = parallel::tasks_of(document, model->lifted(), model->arena());
  std::vector<parallel::OperatorSource> sources = operator_sources(document, tasks);
  const std::vector<bool> keep = parallel::tasks_to_keep(model->lifted(), model->arena(), tasks, model->known_sizes());
  for (std::size_t task = 0; task < sources.size(); ++task) sources[task].is_kept = keep[task];
  XFLOW_TRY(const auto split,
            parallel::SplitModel::of(model->arena(), model->lifted().graph, std::move(sources), model->sizes(), model->costs()));
  split->require_opset(model->lifted().opset);
  XFLOW_TRY(const parallel::SplitPlan plan, configured.split_plan(document, tasks.nodes, model->lifted().values, *split));
  return write_plan_folder({path, *model, tasks, *split, plan}, cluster, folder, origin_of(configured));
}

}  // namespace xflow::api
