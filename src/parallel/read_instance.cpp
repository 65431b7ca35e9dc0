// Reads instances and their splits from JSON.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/parallel/instance.h"
#include "src/parallel/json_fields.h"
#include "src/parallel/ordering.h"

namespace xflow::parallel {
namespace {

using Positions = std::unordered_map<std::int64_t, std::uint32_t>;

constexpr std::int64_t kMostDevices = 4096;
constexpr std::size_t kMostNodes = std::size_t{1} << 24;

Result<std::uint32_t> read_count(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const std::int64_t count, fields.integer(name));
  if (count < 0 || count > kMostDevices)
    return fields.fault_of(name, fmt::format("'{}' is not from 0 to {}: {}", name, kMostDevices, count));
  return static_cast<std::uint32_t>(count);
}

Result<PlacementNode> read_node(const Json& json, std::size_t position, const JsonDocument& document) {
  if (!json.is_object()) return document.fault(json, fmt::format("nodes[{}] is not an object", position));
  XFLOW_TRY(const std::int64_t id, JsonFields(json, fmt::format("nodes[{}] ", position), document).integer("id"));
  const JsonFields fields(json, fmt::format("node {}: ", id), document);
  PlacementNode node;
  node.id = id;
  XFLOW_TRY(node.cpu_time, fields.amount("cpuLatency"));
  XFLOW_TRY(node.accelerator_time, fields.amount("fpgaLatency"));
  XFLOW_TRY(node.bytes, fields.amount("size"));
  XFLOW_TRY(node.on_accelerator, fields.flag("supportedOnFpga"));
  XFLOW_TRY(node.is_backward, fields.flag("isBackwardNode"));
  if (fields.has("colorClass")) {
    XFLOW_TRY(node.colour, fields.integer("colorClass"));
  }
  return node;
}

Result<Positions> read_nodes(const Json& array, PlacementInstance& instance, const JsonDocument& document) {
  if (array.empty()) return document.fault(array, "'nodes' is empty");
  if (array.size() > kMostNodes) return document.fault(array, fmt::format("more than {} nodes", kMostNodes));
  Positions positions;
  instance.nodes.reserve(array.size());
  for (const Json& json : array) {
    const auto position = static_cast<std::uint32_t>(instance.nodes.size());
    XFLOW_TRY(const PlacementNode node, read_node(json, position, document));
    if (!positions.emplace(node.id, position).second)
      return document.fault(json["id"], fmt::format("node {}: the id occurs twice", node.id));
    instance.nodes.push_back(node);
  }
  instance.output_cost.assign(instance.nodes.size(), 0);
  return positions;
}

Result<void> read_edges(const Json& array, const Positions& positions, PlacementInstance& instance, const JsonDocument& document) {
  std::vector<bool> has_cost(instance.nodes.size());
  for (std::size_t k = 0; k < array.size(); ++k) {
    if (!array[k].is_object()) return document.fault(array[k], fmt::format("edges[{}] is not an object", k));
    const JsonFields ends(array[k], fmt::format("edges[{}] ", k), document);
    XFLOW_TRY(const std::int64_t source, ends.integer("sourceId"));
    XFLOW_TRY(const std::int64_t reader, ends.integer("destId"));
    const JsonFields fields(array[k], fmt::format("edge {} -> {}: ", source, reader), document);
    if (!positions.contains(source)) return fields.fault_of("sourceId", fmt::format("there is no node {}", source));
    if (!positions.contains(reader)) return fields.fault_of("destId", fmt::format("there is no node {}", reader));
    if (source == reader) return fields.fault("a node cannot read its own output");
    XFLOW_TRY(const double cost, fields.amount("cost"));
    const std::uint32_t from = positions.at(source);
    double& known = instance.output_cost[from];
    if (has_cost[from] && known != cost)
      return fields.fault_of("cost", fmt::format("its cost is {}, but another edge of node {} has {}", cost, source, known));
    known = cost;
    has_cost[from] = true;
    instance.edges.push_back({from, positions.at(reader)});
  }
  std::sort(instance.edges.begin(), instance.edges.end());
  instance.edges.erase(std::unique(instance.edges.begin(), instance.edges.end()), instance.edges.end());
  return {};
}

// Fusions, which are optional, of nodes with edges.
Result<void> read_fusions(const JsonFields& instance_fields, const Positions& positions, PlacementInstance& instance,
                          const JsonDocument& document) {
  if (!instance_fields.has("fusions")) return {};
  XFLOW_TRY(const Json* array, instance_fields.array("fusions"));
  std::vector<bool> is_fused(instance.nodes.size());
  for (std::size_t k = 0; k < array->size(); ++k) {
    const Json& json = (*array)[k];
    if (!json.is_object()) return document.fault(json, fmt::format("fusions[{}] is not an object", k));
    const JsonFields ends(json, fmt::format("fusions[{}] ", k), document);
    XFLOW_TRY(const std::int64_t id, ends.integer("nodeId"));
    XFLOW_TRY(const std::int64_t into, ends.integer("intoId"));
    const JsonFields fields(json, fmt::format("fusion {} -> {}: ", id, into), document);
    if (!positions.contains(id)) return fields.fault_of("nodeId", fmt::format("there is no node {}", id));
    if (!positions.contains(into)) return fields.fault_of("intoId", fmt::format("there is no node {}", into));
    const PlacementFusion fusion{positions.at(id), positions.at(into), 0};
    const auto first = std::ranges::lower_bound(instance.edges, PlacementEdge{fusion.node, 0});
    if (first == instance.edges.end() || *first != PlacementEdge{fusion.node, fusion.into} ||
        (first + 1 != instance.edges.end() && (first + 1)->from == fusion.node))
      return fields.fault(fmt::format("node {} is not the only reader of node {}", into, id));
    if (is_fused[fusion.node]) return fields.fault(fmt::format("node {} has two fusions", id));
    is_fused[fusion.node] = true;
    instance.fusions.push_back(fusion);
    XFLOW_TRY(instance.fusions.back().saved, fields.amount("saved"));
  }
  return {};
}

// A cycle of the graph, or of its forward nodes if it has backward nodes.
Result<void> check_acyclic(const PlacementInstance& instance, const Json& nodes, const JsonDocument& document) {
  const auto in_cycle = node_of_cycle(static_cast<std::uint32_t>(instance.nodes.size()), instance.edges);
  if (!in_cycle) return {};
  return document.fault(nodes[*in_cycle], fmt::format("node {} is in a cycle", instance.nodes[*in_cycle].id));
}

// Without a CPU, each class must fit an accelerator.
Result<void> check_fit(const PlacementInstance& instance, const Json& nodes, const JsonDocument& document) {
  if (instance.devices() == 0) return document.fault(document.root()["maxFPGAs"], "there are no devices: 'maxFPGAs' and 'maxCPUs' are 0");
  if (instance.cpus > 0) return {};
  std::unordered_map<std::int64_t, double> bytes_of_class;
  for (std::size_t k = 0; k < instance.nodes.size(); ++k) {
    const PlacementNode& node = instance.nodes[k];
    const auto unfit = [&](std::string message) { return fail(ErrorCode::unsupported, std::move(message), document.place_of(nodes[k])); };
    if (!node.on_accelerator) return unfit(fmt::format("node {} fits no device: it needs a CPU, and there is none", node.id));
    double bytes = node.bytes;
    std::string what = fmt::format("node {}", node.id);
    if (node.colour) {
      bytes = bytes_of_class[*node.colour] += node.bytes;
      what += fmt::format(" and its colour class {}", *node.colour);
    }
    if (bytes > instance.memory) {
      return unfit(fmt::format("{} fits no device: it takes {:.0f} bytes, an accelerator has {:.0f}, and there is no CPU", what, bytes,
                               instance.memory));
    }
  }
  return {};
}

// Reads the nodes of each device.
class SplitReader {
 public:
  SplitReader(const PlacementInstance& instance, const JsonDocument& document)
      : instance_(instance), document_(document), named_(instance.nodes.size()) {
    for (std::uint32_t k = 0; k < instance.nodes.size(); ++k) positions_.emplace(instance.nodes[k].id, k);
  }

  // The nodes of a device, whose name in messages is `owner`.
  Result<void> read_part(const Json& json, const std::string& owner, std::uint32_t device) {
    if (!json.is_object()) return document_.fault(json, owner + " is not an object");
    XFLOW_TRY(const Json* nodes, JsonFields(json, owner + " ", document_).array("nodes"));
    for (const Json& id : *nodes) {
      const auto fault = [&](const std::string& message) { return document_.fault(id, fmt::format("{}: {}", owner, message)); };
      if (!is_int64(id)) return fault("the id of a node is not an integer");
      const auto number = id.get<std::int64_t>();
      const auto found = positions_.find(number);
      if (found == positions_.end()) return fault(fmt::format("the instance has no node {}", number));
      if (named_[found->second]) return fault(fmt::format("node {} is named twice", number));
      if (device < instance_.accelerators && !instance_.nodes[found->second].on_accelerator)
        return fault(fmt::format("node {} needs a CPU", number));
      named_[found->second] = Named{device, &id};
    }
    return {};
  }

  // Gives nodes that the split does not name the device of their class. Errors: a class on two devices.
  Result<NodeDevices> complete() const {
    std::unordered_map<std::int64_t, Named> of_class;
    for (std::size_t k = 0; k < named_.size(); ++k) {
      const auto colour = instance_.nodes[k].colour;
      if (!named_[k] || !colour) continue;
      if (of_class.emplace(*colour, *named_[k]).first->second.device != named_[k]->device)
        return document_.fault(*named_[k]->id,
                               fmt::format("node {}: its colour class {} is on two devices", instance_.nodes[k].id, *colour));
    }
    NodeDevices result(named_.size());
    for (std::size_t k = 0; k < named_.size(); ++k) {
      const PlacementNode& node = instance_.nodes[k];
      if (named_[k]) {
        result[k] = named_[k]->device;
        continue;
      }
      const auto found = node.colour ? of_class.find(*node.colour) : of_class.end();
      if (found == of_class.end()) return document_.fault(document_.root(), fmt::format("node {} is on no device", node.id));
      result[k] = found->second.device;
      if (result[k] < instance_.accelerators && !node.on_accelerator)
        return document_.fault(*found->second.id, fmt::format("node {} needs a CPU, but its class is on an accelerator", node.id));
    }
    return result;
  }

 private:
  // A node that the split names.
  struct Named {
    std::uint32_t device;
    const Json* id;
  };

  const PlacementInstance& instance_;
  const JsonDocument& document_;
  Positions positions_;
  std::vector<std::optional<Named>> named_;
};

}  // namespace

Result<PlacementInstance> read_instance(std::string_view text, const std::string& where) {
  XFLOW_TRY(const JsonDocument document, JsonDocument::parse(text, where, "an instance of a placement"));
  const JsonFields fields(document.root(), "the instance ", document);
  PlacementInstance instance;
  XFLOW_TRY(instance.accelerators, read_count(fields, "maxFPGAs"));
  XFLOW_TRY(instance.cpus, read_count(fields, "maxCPUs"));
  XFLOW_TRY(instance.memory, fields.amount("maxSizePerFPGA"));
  XFLOW_TRY(const Json* nodes, fields.array("nodes"));
  XFLOW_TRY(const Json* edges, fields.array("edges"));
  XFLOW_TRY(const Positions positions, read_nodes(*nodes, instance, document));
  XFLOW_CHECK(read_edges(*edges, positions, instance, document));
  XFLOW_CHECK(read_fusions(fields, positions, instance, document));
  XFLOW_CHECK(check_acyclic(instance, *nodes, document));
  XFLOW_CHECK(check_fit(instance, *nodes, document));
  return instance;
}

Result<NodeDevices> read_split(std::string_view text, const PlacementInstance& instance, const std::string& where) {
  XFLOW_TRY(const JsonDocument document, JsonDocument::parse(text, where, "a split of an instance"));
  const JsonFields fields(document.root(), "the split ", document);
  SplitReader reader(instance, document);
  struct Kind {
    const char* name;
    const char* devices;  // in messages
    std::uint32_t first;
    std::uint32_t count;
  };
  for (const Kind& kind :
       {Kind{"fpgas", "accelerators", 0, instance.accelerators}, Kind{"cpus", "CPUs", instance.accelerators, instance.cpus}}) {
    XFLOW_TRY(const Json* parts, fields.array(kind.name));
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < parts->size(); ++k) {
      const Json& part = (*parts)[k];
      const std::string owner = fmt::format("{}[{}]", kind.name, k);
      // A device without nodes needs none of the instance.
      if (part.is_object() && part.contains("nodes") && part["nodes"].is_array() && part["nodes"].empty()) continue;
      if (used == kind.count)
        return document.fault(part, fmt::format("{}: more parts than {} of the instance ({})", owner, kind.devices, kind.count));
      XFLOW_CHECK(reader.read_part(part, owner, kind.first + used++));
    }
  }
  return reader.complete();
}

}  // namespace xflow::parallel
