#include "src/parallel/plan_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace xflow::parallel {
namespace {

onnx_io::ShardingSpec spec_of(const ir::Shape& shape, std::string_view tensor, const OperatorPlan& plan,
                              const std::vector<ShardedDimension>& dimensions) {
  onnx_io::ShardingSpec spec;
  spec.tensor = tensor;
  for (const ShardedDimension& own : dimensions) {
    onnx_io::SimpleSharding sharding;
    sharding.dim_value = shape[own.dimension].constant();
    sharding.num_shards = plan.degree(own.target, own.axis);
    spec.axes.push_back({own.dimension, {std::move(sharding)}});
  }
  // The devices of each shard, row-major over the axes.
  std::map<std::vector<std::uint32_t>, std::vector<std::int64_t>> shards;
  for (std::uint32_t part = 0; part < plan.parts(); ++part) {
    std::vector<std::uint32_t> position;
    position.reserve(dimensions.size());
    for (const ShardedDimension& own : dimensions) position.push_back(plan.position(part, own.target, own.axis));
    shards[std::move(position)].push_back(plan.device(part));
  }
  for (auto& [position, devices] : shards) {
    if (devices.size() == 1) {
      spec.devices.push_back(devices[0]);
      continue;
    }
    std::ranges::sort(devices);
    const std::int64_t key = -static_cast<std::int64_t>(spec.groups.size()) - 1;
    spec.groups.push_back({key, std::move(devices)});
    spec.devices.push_back(key);
  }
  return spec;
}

}  // namespace

Result<onnx_io::DeviceAnnotations> plan_annotations(const onnx_io::Document& document, std::span<const onnx_io::NodeId> nodes,
                                                    const NamedValues& values, const SplitModel& model, const SplitPlan& plan,
                                                    onnx_io::DeviceConfiguration configuration) {
  onnx_io::DeviceAnnotations result;
  for (std::uint32_t number = 0; number < plan.size(); ++number) {
    const SplitOperator& op = model.operators()[number];
    const onnx_io::Node& node = document.node(nodes[number]);
    if (!has_equal_parts(model, number, plan[number]))
      return fail(ErrorCode::unsupported, fmt::format("{} has parts that are no equal shards, which a configuration of ONNX cannot express",
                                                      describe(document, node.id)));
    onnx_io::NodeAnnotation annotation;
    annotation.configuration = configuration.name;
    const auto add = [&](std::string_view name, const ir::Shape& shape, const std::vector<ShardedDimension>& dimensions) {
      const bool is_known = std::ranges::any_of(annotation.specs, [&](const onnx_io::ShardingSpec& spec) { return spec.tensor == name; });
      if (!name.empty() && !is_known) annotation.specs.push_back(spec_of(shape, name, plan[number], dimensions));
    };
    // The number of a tensor in a list of the operator; that of its end if the operator does not have it.
    const auto position = [&](std::string_view name, const std::vector<std::uint32_t>& list) {
      const auto id = values.find(name);
      const auto found =
          std::ranges::find_if(list, [&](std::uint32_t own) { return id != values.end() && model.values()[own].id == id->second; });
      return static_cast<std::uint32_t>(found - list.begin());
    };
    for (const std::string_view input : node.inputs) {
      const std::uint32_t k = position(input, op.reads);
      if (k == op.reads.size())
        add(input, {}, {});
      else
        add(input, model.shape(op.reads[k]), dimensions_of_operand(model.kind(op), plan[number], k));
    }
    for (const std::string_view output : node.outputs) {
      const std::uint32_t k = position(output, op.outputs);
      if (k == op.outputs.size())
        add(output, {}, {});
      else
        add(output, model.shape(op.outputs[k]), dimensions_of_result(plan[number], model.values()[op.outputs[k]].whole.size()));
    }
    result.nodes.push_back({node.id, {std::move(annotation)}});
  }
  std::ranges::sort(result.nodes, {}, &onnx_io::AnnotatedNode::node);
  result.configurations.push_back(std::move(configuration));
  return result;
}

}  // namespace xflow::parallel
