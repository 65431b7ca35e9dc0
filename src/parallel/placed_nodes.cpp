#include "src/parallel/placed_nodes.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace xflow::parallel {
namespace {

using onnx_io::Document;

// What devices need of each other.
struct DeviceOrder {
  std::vector<std::uint32_t> first_use;                        // devices in the order of their first nodes
  std::map<std::uint32_t, std::set<std::uint32_t>> producers;  // by device: other devices whose results it needs
};

DeviceOrder order_of(const Document& document, const DeviceOfNode& devices) {
  DeviceOrder order;
  std::map<onnx_io::NodeId, std::set<std::uint32_t>> sources;  // the devices of a node without one: those that it reads
  for (const onnx_io::NodeId id : document.main().order) {
    const onnx_io::Node& node = document.node(id);
    std::set<std::uint32_t> read;
    const auto add = [&](std::string_view value) {
      const onnx_io::Definition* definition = document.find(document.main().id, value);
      if (definition == nullptr || !definition->node) return;
      const std::set<std::uint32_t>& from = sources[*definition->node];
      read.insert(from.begin(), from.end());
    };
    std::ranges::for_each(node.inputs, add);
    std::ranges::for_each(node.captures, add);
    const auto device = devices.find(id);
    if (device == devices.end()) {
      sources[id] = std::move(read);
      continue;
    }
    sources[id] = {device->second};
    const auto [needed, is_new] = order.producers.try_emplace(device->second);
    if (is_new) order.first_use.push_back(device->second);
    read.erase(device->second);
    needed->second.insert(read.begin(), read.end());
  }
  return order;
}

// A spec for each input and output: all of the tensor is on the device.
std::vector<onnx_io::ShardingSpec> specs_on(std::uint32_t device, const onnx_io::Node& node) {
  std::vector<onnx_io::ShardingSpec> specs;
  std::set<std::string_view> seen;
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const std::string_view tensor : *list)
      if (!tensor.empty() && seen.insert(tensor).second) specs.push_back({std::string(tensor), {device}});
  }
  return specs;
}

}  // namespace

std::optional<std::map<std::uint32_t, std::int64_t>> pipeline_stages(const Document& document, const DeviceOfNode& devices) {
  DeviceOrder order = order_of(document, devices);
  std::map<std::uint32_t, std::int64_t> stages;
  while (!order.first_use.empty()) {
    const auto next = std::ranges::find_if(order.first_use, [&](std::uint32_t device) {
      return std::ranges::all_of(order.producers[device], [&](std::uint32_t producer) { return stages.contains(producer); });
    });
    if (next == order.first_use.end()) return std::nullopt;
    stages.emplace(*next, static_cast<std::int64_t>(stages.size()));
    order.first_use.erase(next);
  }
  return stages;
}

onnx_io::DeviceAnnotations placement_annotations(const Document& document, onnx_io::DeviceConfiguration configuration,
                                                 const DeviceOfNode& devices) {
  const auto stages = pipeline_stages(document, devices);
  onnx_io::DeviceAnnotations annotations;
  for (const auto& [id, device] : devices) {
    onnx_io::NodeAnnotation annotation{configuration.name, specs_on(device, document.node(id))};
    if (stages) annotation.pipeline_stage = stages->at(device);
    annotations.nodes.push_back({id, {std::move(annotation)}});
  }
  annotations.configurations.push_back(std::move(configuration));
  return annotations;
}

}  // namespace xflow::parallel
