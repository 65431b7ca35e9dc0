// Reads instances and their splits from JSON.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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
  if (count < 0 || count > kMostDevices) return fields.fault(fmt::format("'{}' is not from 0 to {}: {}", name, kMostDevices, count));
  return static_cast<std::uint32_t>(count);
}

Result<PlacementNode> read_node(const Json& json, std::size_t position, const std::string& where) {
  if (!json.is_object()) return fail(ErrorCode::unreadable, fmt::format("nodes[{}] is not an object", position), where);
  XFLOW_TRY(const std::int64_t id, JsonFields(json, fmt::format("nodes[{}] ", position), where).integer("id"));
  const JsonFields fields(json, fmt::format("node {}: ", id), where);
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

Result<Positions> read_nodes(const Json& array, PlacementInstance& instance, const std::string& where) {
  if (array.empty()) return fail(ErrorCode::unreadable, "'nodes' is empty", where);
  if (array.size() > kMostNodes) return fail(ErrorCode::unreadable, fmt::format("more than {} nodes", kMostNodes), where);
  Positions positions;
  instance.nodes.reserve(array.size());
  for (const Json& json : array) {
    const auto position = static_cast<std::uint32_t>(instance.nodes.size());
    XFLOW_TRY(const PlacementNode node, read_node(json, position, where));
    if (!positions.emplace(node.id, position).second)
      return fail(ErrorCode::unreadable, fmt::format("node {}: the id occurs twice", node.id), where);
    instance.nodes.push_back(node);
  }
  instance.output_cost.assign(instance.nodes.size(), 0);
  return positions;
}

Result<void> read_edges(const Json& array, const Positions& positions, PlacementInstance& instance, const std::string& where) {
  std::vector<bool> has_cost(instance.nodes.size());
  for (std::size_t k = 0; k < array.size(); ++k) {
    if (!array[k].is_object()) return fail(ErrorCode::unreadable, fmt::format("edges[{}] is not an object", k), where);
    const JsonFields ends(array[k], fmt::format("edges[{}] ", k), where);
    XFLOW_TRY(const std::int64_t source, ends.integer("sourceId"));
    XFLOW_TRY(const std::int64_t reader, ends.integer("destId"));
    const JsonFields fields(array[k], fmt::format("edge {} -> {}: ", source, reader), where);
    for (const std::int64_t end : {source, reader}) {
      if (!positions.contains(end)) return fields.fault(fmt::format("there is no node {}", end));
    }
    if (source == reader) return fields.fault("a node cannot read its own output");
    XFLOW_TRY(const double cost, fields.amount("cost"));
    const std::uint32_t from = positions.at(source);
    double& known = instance.output_cost[from];
    if (has_cost[from] && known != cost)
      return fields.fault(fmt::format("its cost is {}, but another edge of node {} has {}", cost, source, known));
    known = cost;
    has_cost[from] = true;
    instance.edges.push_back({from, positions.at(reader)});
  }
  std::sort(instance.edges.begin(), instance.edges.end());
  instance.edges.erase(std::unique(instance.edges.begin(), instance.edges.end()), instance.edges.end());
  return {};
}

// A cycle of the graph, or of its forward nodes if it has backward nodes.
Result<void> check_acyclic(const PlacementInstance& instance, const std::string& where) {
  const auto in_cycle = node_of_cycle(static_cast<std::uint32_t>(instance.nodes.size()), instance.edges);
  if (!in_cycle) return {};
  return fail(ErrorCode::unreadable, fmt::format("node {} is in a cycle", instance.nodes[*in_cycle].id), where);
}

// Without a CPU, each class must fit an accelerator.
Result<void> check_fit(const PlacementInstance& instance, const std::string& where) {
  if (instance.devices() == 0) return fail(ErrorCode::unreadable, "there are no devices: 'maxFPGAs' and 'maxCPUs' are 0", where);
  if (instance.cpus > 0) return {};
  std::unordered_map<std::int64_t, double> bytes_of_class;
  for (const PlacementNode& node : instance.nodes) {
    if (!node.on_accelerator)
      return fail(ErrorCode::unsupported, fmt::format("node {} fits no device: it needs a CPU, and there is none", node.id), where);
    double bytes = node.bytes;
    std::string what = fmt::format("node {}", node.id);
    if (node.colour) {
      bytes = bytes_of_class[*node.colour] += node.bytes;
      what += fmt::format(" and its colour class {}", *node.colour);
    }
    if (bytes > instance.memory) {
      return fail(ErrorCode::unsupported,
                  fmt::format("{} fits no device: it takes {:.0f} bytes, an accelerator has {:.0f}, and there is no CPU", what, bytes,
                              instance.memory),
                  where);
    }
  }
  return {};
}

// The nodes of one device of a split, whose name in messages is `owner`.
Result<void> read_part(const Json& json, const std::string& owner, std::uint32_t device, const PlacementInstance& instance,
                       const Positions& positions, std::vector<std::optional<std::uint32_t>>& devices, const std::string& where) {
  if (!json.is_object()) return fail(ErrorCode::unreadable, owner + " is not an object", where);
  XFLOW_TRY(const Json* nodes, JsonFields(json, owner + " ", where).array("nodes"));
  for (const Json& id : *nodes) {
    if (!id.is_number_integer()) return fail(ErrorCode::unreadable, owner + ": the id of a node is not an integer", where);
    const auto found = positions.find(id.get<std::int64_t>());
    if (found == positions.end())
      return fail(ErrorCode::unreadable, fmt::format("{}: the instance has no node {}", owner, id.get<std::int64_t>()), where);
    if (devices[found->second])
      return fail(ErrorCode::unreadable, fmt::format("{}: node {} is named twice", owner, id.get<std::int64_t>()), where);
    if (device < instance.accelerators && !instance.nodes[found->second].on_accelerator)
      return fail(ErrorCode::unreadable, fmt::format("{}: node {} needs a CPU", owner, id.get<std::int64_t>()), where);
    devices[found->second] = device;
  }
  return {};
}

// Gives nodes that the split does not name the device of their class. Errors: a class on two devices.
Result<NodeDevices> complete(const PlacementInstance& instance, const std::vector<std::optional<std::uint32_t>>& devices,
                             const std::string& where) {
  std::unordered_map<std::int64_t, std::uint32_t> device_of_class;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const auto colour = instance.nodes[k].colour;
    if (!devices[k] || !colour) continue;
    if (device_of_class.emplace(*colour, *devices[k]).first->second != *devices[k])
      return fail(ErrorCode::unreadable, fmt::format("node {}: its colour class {} is on two devices", instance.nodes[k].id, *colour),
                  where);
  }
  NodeDevices result(devices.size());
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const auto colour = instance.nodes[k].colour;
    if (devices[k]) {
      result[k] = *devices[k];
    } else if (colour && device_of_class.contains(*colour)) {
      result[k] = device_of_class.at(*colour);
      if (result[k] < instance.accelerators && !instance.nodes[k].on_accelerator)
        return fail(ErrorCode::unreadable, fmt::format("node {} needs a CPU, but its class is on an accelerator", instance.nodes[k].id),
                    where);
    } else {
      return fail(ErrorCode::unreadable, fmt::format("node {} is on no device", instance.nodes[k].id), where);
    }
  }
  return result;
}

}  // namespace

Result<PlacementInstance> read_instance(std::string_view text, const std::string& where) {
  XFLOW_TRY(const Json json, parse_object(text, where, "an instance of a placement"));
  const JsonFields fields(json, "the instance ", where);
  PlacementInstance instance;
  XFLOW_TRY(instance.accelerators, read_count(fields, "maxFPGAs"));
  XFLOW_TRY(instance.cpus, read_count(fields, "maxCPUs"));
  XFLOW_TRY(instance.memory, fields.amount("maxSizePerFPGA"));
  XFLOW_TRY(const Json* nodes, fields.array("nodes"));
  XFLOW_TRY(const Json* edges, fields.array("edges"));
  XFLOW_TRY(const Positions positions, read_nodes(*nodes, instance, where));
  XFLOW_CHECK(read_edges(*edges, positions, instance, where));
  XFLOW_CHECK(check_acyclic(instance, where));
  XFLOW_CHECK(check_fit(instance, where));
  return instance;
}

Result<NodeDevices> read_split(std::string_view text, const PlacementInstance& instance, const std::string& where) {
  XFLOW_TRY(const Json json, parse_object(text, where, "a split of an instance"));
  const JsonFields fields(json, "the split ", where);
  Positions positions;
  for (std::uint32_t k = 0; k < instance.nodes.size(); ++k) positions.emplace(instance.nodes[k].id, k);
  std::vector<std::optional<std::uint32_t>> devices(instance.nodes.size());
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
        return fail(ErrorCode::unreadable, fmt::format("{}: more parts than {} of the instance ({})", owner, kind.devices, kind.count),
                    where);
      XFLOW_CHECK(read_part(part, owner, kind.first + used++, instance, positions, devices, where));
    }
  }
  return complete(instance, devices, where);
}

}  // namespace xflow::parallel
