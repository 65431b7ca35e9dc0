#include "src/parallel/configured_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/parallel/plan_check.h"
#include "src/parallel/shard_layout.h"
#include "src/support/printable.h"

namespace xflow::parallel {
namespace {

using onnx_io::DeviceConfiguration;
using onnx_io::Document;
using onnx_io::in_quotes;
using onnx_io::ShardingSpec;

Result<const DeviceConfiguration*> configuration_for(const Document& document, const std::vector<DeviceConfiguration>& all,
                                                     const DeviceCluster& cluster) {
  const auto named = std::ranges::find(all, cluster.name, &DeviceConfiguration::name);
  if (named != all.end()) return &*named;
  if (all.size() == 1) return &all[0];
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const DeviceConfiguration& own : all) names.push_back(in_quotes(own.name));
  return fail(ErrorCode::unsupported,
              fmt::format("the model has the configurations {}, and none has the name of the cluster, {}", fmt::join(names, ", "),
                          in_quotes(cluster.name)),
              document.origin().name);
}

// By device of the configuration: that of the cluster.
Result<std::vector<std::uint32_t>> devices_of(const Document& document, const DeviceConfiguration& configuration,
                                              const DeviceCluster& cluster) {
  const auto count = static_cast<std::size_t>(configuration.num_devices.value_or(0));
  std::vector<std::uint32_t> devices;
  for (const std::string& name : configuration.devices) {
    const auto found = std::ranges::find(cluster.devices, name, &ClusterDevice::name);
    if (found != cluster.devices.end()) devices.push_back(static_cast<std::uint32_t>(found - cluster.devices.begin()));
  }
  if (devices.size() == count) return devices;
  if (count > cluster.size()) {
    return fail(ErrorCode::unsupported,
                fmt::format("configuration {} has {} devices, and the cluster {} has {}", in_quotes(configuration.name), count,
                            in_quotes(cluster.name), cluster.size()),
                document.origin().name);
  }
  devices.clear();
  for (std::uint32_t k = 0; k < count; ++k) devices.push_back(k);
  return devices;
}

bool is_whole(const ShardingSpec& spec) {
  const auto is_one = [](const onnx_io::ShardedAxis& axis) {
    return std::ranges::all_of(axis.dims, [](const onnx_io::SimpleSharding& dim) { return dim.num_shards == 1; });
  };
  return spec.devices.size() == 1 && spec.groups.empty() && std::ranges::all_of(spec.axes, is_one);
}

// Splits of one target that give the k-th part the device `devices[k]`, but for the first device. Nothing if
// no splits do.
std::optional<std::vector<Split>> splits_of(std::vector<std::uint32_t> devices, SplitTarget target, std::uint32_t dimension) {
  std::vector<Split> splits;
  while (devices.size() > 1) {
    const std::uint32_t stride = devices[1] - devices[0];
    std::size_t run = 2;
    while (run < devices.size() && devices[run] - devices[run - 1] == stride) ++run;
    while (devices.size() % run != 0) --run;
    if (run < 2) return std::nullopt;
    splits.push_back({target, dimension, static_cast<std::uint32_t>(run), stride});
    std::vector<std::uint32_t> firsts;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      if (k % run == 0) firsts.push_back(devices[k]);
      if (devices[k] - firsts.back() != static_cast<std::uint32_t>(k % run) * stride) return std::nullopt;
    }
    devices = std::move(firsts);
  }
  std::ranges::reverse(splits);  // outermost first
  return splits;
}

// What the parts of an operator divide, and their devices.
struct DividedOperator {
  struct Target {
    SplitTarget target;
    std::uint32_t dimension;
    std::int64_t parts;
    friend auto operator<=>(const Target&, const Target&) = default;
  };
  std::vector<Target> targets;
  std::map<std::vector<std::int64_t>, std::vector<std::uint32_t>> devices;  // by position along the targets

  // The plan that has these devices. Nothing if there is none.
  std::optional<OperatorPlan> plan() {
    const std::size_t copies = devices.begin()->second.size();
    for (auto& [position, own] : devices) {
      if (own.size() != copies) return std::nullopt;
      std::ranges::sort(own);
    }
    const std::vector<std::int64_t> origin(targets.size(), 0);
    const auto first = devices.find(origin);
    if (first == devices.end()) return std::nullopt;
    OperatorPlan plan;
    plan.base = first->second[0];
    if (!add(plan, first->second, SplitTarget::copies, 0)) return std::nullopt;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      std::vector<std::uint32_t> along;
      for (std::int64_t at = 0; at < targets[k].parts; ++at) {
        std::vector<std::int64_t> position = origin;
        position[k] = at;
        const auto found = devices.find(position);
        if (found == devices.end()) return std::nullopt;
        along.push_back(found->second[0]);
      }
      if (!add(plan, std::move(along), targets[k].target, targets[k].dimension)) return std::nullopt;
    }
    // Parts are numbered as their devices are, where strides allow it.
    std::ranges::stable_sort(plan.splits, std::greater(), &Split::stride);
    return fits(plan) ? std::optional(std::move(plan)) : std::nullopt;
  }

 private:
  static bool add(OperatorPlan& plan, std::vector<std::uint32_t> along, SplitTarget target, std::uint32_t dimension) {
    const auto splits = splits_of(std::move(along), target, dimension);
    if (splits) plan.splits.insert(plan.splits.end(), splits->begin(), splits->end());
    return splits.has_value();
  }
  bool fits(const OperatorPlan& plan) const {
    std::map<std::vector<std::int64_t>, std::vector<std::uint32_t>> found;
    for (std::uint32_t part = 0; part < plan.parts(); ++part) {
      std::vector<std::int64_t> position;
      position.reserve(targets.size());
      for (const Target& own : targets) position.push_back(plan.position(part, own.target, own.dimension));
      found[std::move(position)].push_back(plan.device(part));
    }
    for (auto& [position, own] : found) std::ranges::sort(own);
    return found == devices;
  }
};

// How the tensor of a value is divided; nothing without a spec. Errors: unsupported for shards that do not
// fit the sizes of the model.
Result<std::optional<ShardLayout>> layout_of(const std::vector<ShardingSpec>& specs, const NamedValues& values, const SplitModel& model,
                                             std::uint32_t value) {
  const SplitValue& own = model.values()[value];
  const auto spec = std::ranges::find_if(specs, [&](const ShardingSpec& other) {
    const auto named = values.find(other.tensor);
    return named != values.end() && named->second == own.id;
  });
  if (spec == specs.end()) return std::optional<ShardLayout>();
  std::vector<onnx_io::KnownSize> sizes;
  for (const Interval& dimension : own.whole) sizes.push_back({dimension.end, {}});
  PlanFaults faults;
  auto layout = check_spec(*spec, &sizes, std::nullopt, {}, faults);
  if (layout) return layout;
  return fail(ErrorCode::unsupported, fmt::format("tensor {}: {}", in_quotes(spec->tensor), std::move(faults).take()[0].text));
}

// A spec with devices of the cluster, by device of the configuration. Groups get keys of their own.
ShardingSpec on_cluster(ShardingSpec spec, std::span<const std::uint32_t> devices) {
  std::map<std::int64_t, std::int64_t> keys;
  for (onnx_io::DeviceGroup& group : spec.groups) {
    group.key = keys[group.key] = -static_cast<std::int64_t>(keys.size()) - 1;
    for (std::int64_t& device : group.devices) device = devices[static_cast<std::size_t>(device)];
  }
  for (std::int64_t& device : spec.devices) {
    const auto key = keys.find(device);
    device = key != keys.end() ? key->second : devices[static_cast<std::size_t>(device)];
  }
  return spec;
}

}  // namespace

Result<std::optional<ConfiguredPlan>> ConfiguredPlan::read(const Document& document, const DeviceCluster& cluster) {
  XFLOW_TRY(const onnx_io::DeviceAnnotations annotations, read_device_annotations(document));
  if (annotations.configurations.empty()) return std::optional<ConfiguredPlan>();
  XFLOW_TRY(const DeviceConfiguration* configuration, configuration_for(document, annotations.configurations, cluster));
  ConfiguredPlan plan;
  plan.name_ = configuration->name;
  plan.devices_ = cluster.size();
  const PlanCheck check = check_annotations(document, annotations);
  const auto is_its = [&](const PlanFault& fault) { return fault.configuration.empty() || fault.configuration == plan.name_; };
  const auto fault = std::ranges::find_if(check.faults, is_its);
  if (fault != check.faults.end()) return fail(ErrorCode::unsupported, fault->to_text(), document.origin().name);
  XFLOW_TRY(const auto devices, devices_of(document, *configuration, cluster));
  for (const onnx_io::AnnotatedNode& annotated : annotations.nodes) {
    for (const onnx_io::NodeAnnotation& annotation : annotated.annotations) {
      if (annotation.configuration != plan.name_) continue;
      for (const ShardingSpec& spec : annotation.specs) plan.specs_[annotated.node].push_back(on_cluster(spec, devices));
    }
  }
  return std::optional(std::move(plan));
}

const ConfiguredPlan::Specs* ConfiguredPlan::specs_of(onnx_io::NodeId node) const {
  const auto found = specs_.find(node);
  return found == specs_.end() || found->second.empty() ? nullptr : &found->second;
}

Result<std::optional<std::vector<std::uint32_t>>> ConfiguredPlan::whole_devices(const Document& document,
                                                                                std::span<const onnx_io::NodeId> nodes) const {
  std::vector<std::uint32_t> devices;
  for (const onnx_io::NodeId node : nodes) {
    const Specs* specs = specs_of(node);
    if (specs == nullptr)
      return fail(ErrorCode::unsupported, fmt::format("{} has no device in configuration {}", describe(document, node), in_quotes(name_)),
                  document.origin().name);
    const std::int64_t device = specs->front().devices[0];
    const auto is_there = [&](const ShardingSpec& spec) { return is_whole(spec) && spec.devices[0] == device; };
    if (!std::ranges::all_of(*specs, is_there)) return std::optional<std::vector<std::uint32_t>>();
    devices.push_back(static_cast<std::uint32_t>(device));
  }
  return std::optional(std::move(devices));
}

Result<OperatorPlan> ConfiguredPlan::plan_of(const Document& document, onnx_io::NodeId node, const NamedValues& values, SplitModel& model,
                                             std::uint32_t number) const {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::unsupported, fmt::format("{}, configuration {}: {}", describe(document, node), in_quotes(name_), why),
                document.origin().name);
  };
  const SplitOperator& op = model.operators()[number];
  const Specs* specs = specs_of(node);
  if (specs == nullptr) return refuse("has no device");
  if (op.outputs.empty()) return OperatorPlan{static_cast<std::uint32_t>(specs->front().devices[0]), {}};
  const auto found = layout_of(*specs, values, model, op.outputs[0]);
  if (!found) return refuse(found.error().message);
  const std::optional<ShardLayout>& result = *found;
  if (!result) return refuse("its result has no sharding spec");
  DividedOperator divided;
  for (const AxisCut& cut : result->cuts)
    divided.targets.push_back({SplitTarget::output, static_cast<std::uint32_t>(cut.axis), cut.shards});
  // The terms of a sum, as the first operand that is divided along it has them.
  std::optional<ShardLayout> terms;
  std::size_t along = 0;
  for (const auto& [read, dimension] : model.kind(op).reduction.follows) {
    auto operand = layout_of(*specs, values, model, op.reads[read]);
    if (!operand) return refuse(operand.error().message);
    const std::optional<ShardLayout>& layout = *operand;
    if (!layout || terms) continue;
    const auto cut = std::ranges::find(layout->cuts, dimension, &AxisCut::axis);
    if (cut == layout->cuts.end()) continue;
    along = static_cast<std::size_t>(cut - layout->cuts.begin());
    divided.targets.push_back({SplitTarget::reduction, 0, cut->shards});
    terms = layout;
  }
  for (const auto& [device, shards] : result->shards) {
    std::vector<std::int64_t> position = shards;
    if (terms) {
      const auto own = terms->shards.find(device);
      if (own == terms->shards.end()) return refuse("a device that has its sum has none of its terms");
      position.push_back(own->second[along]);
    }
    divided.devices[std::move(position)].push_back(static_cast<std::uint32_t>(device));
  }
  if (terms && terms->shards.size() != result->shards.size()) return refuse("a device that has terms of its sum does not have the sum");
  const auto plan = divided.plan();
  if (!plan) return refuse("the devices of its shards have no strides");
  if (!is_possible(model, number, *plan, devices_)) return refuse("no proved split of the operator has these shards");
  return *plan;
}

Result<SplitPlan> ConfiguredPlan::split_plan(const Document& document, std::span<const onnx_io::NodeId> nodes, const NamedValues& values,
                                             SplitModel& model) const {
  SplitPlan plan;
  for (std::uint32_t number = 0; number < nodes.size(); ++number) {
    XFLOW_TRY(OperatorPlan own, plan_of(document, nodes[number], values, model, number));
    plan.push_back(std::move(own));
  }
  return plan;
}

}  // namespace xflow::parallel
