#include "src/parallel/device_plan.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "src/parallel/json_fields.h"

namespace xflow::parallel {
namespace {

constexpr std::int64_t kPlanVersion = 1;

// Finds nodes by the names and numbers of a plan.
class PlannedNodes {
 public:
  explicit PlannedNodes(std::span<const std::string_view> names) : size_(names.size()) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (!names[k].empty()) by_name_[std::string(names[k])].push_back(k);
    }
  }

  Result<std::size_t> find(const JsonFields& fields) const {
    XFLOW_TRY(const Json* value, fields.find("node"));
    if (value->is_string()) {
      const auto& name = value->get_ref<const std::string&>();
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) return fields.fault_of("node", fmt::format("the model has no node '{}'", name));
      if (found->second.size() > 1)
        return fields.fault_of(
            "node", fmt::format("{} nodes have the name '{}'; give their numbers, as {}", found->second.size(), name, found->second[0]));
      return found->second[0];
    }
    if (!value->is_number_integer()) return fields.fault_of("node", "'node' is neither a name nor a number");
    XFLOW_TRY(const std::int64_t number, fields.integer("node"));
    if (number < 0 || static_cast<std::size_t>(number) >= size_)
      return fields.fault_of("node", fmt::format("there is no node {}: the model has {}", number, size_));
    return static_cast<std::size_t>(number);
  }

 private:
  std::size_t size_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
};

Result<std::uint32_t> planned_device(const JsonFields& fields, const char* name, const DeviceCluster& cluster) {
  XFLOW_TRY(const std::string device, fields.text(name));
  const auto found = std::ranges::find(cluster.devices, device, &ClusterDevice::name);
  if (found == cluster.devices.end())
    return fields.fault_of(name, fmt::format("the cluster '{}' has no device '{}'", cluster.name, device));
  return static_cast<std::uint32_t>(found - cluster.devices.begin());
}

}  // namespace

Result<std::vector<std::optional<std::uint32_t>>> read_plan(std::string_view text, const std::string& where,
                                                            std::span<const std::string_view> names, const DeviceCluster& cluster) {
  XFLOW_TRY(const JsonDocument document, JsonDocument::parse(text, where, "a plan"));
  const JsonFields fields(document.root(), "the plan: ", document);
  constexpr std::array<std::string_view, 3> kKnown = {"version", "default", "nodes"};
  XFLOW_CHECK(fields.only(kKnown));
  XFLOW_TRY(const std::int64_t version, fields.integer("version"));
  if (version != kPlanVersion)
    return fields.fault_of("version", fmt::format("'version' is {}; this xflow reads {}", version, kPlanVersion));
  std::vector<std::optional<std::uint32_t>> devices(names.size());
  XFLOW_TRY(const Json* nodes, fields.array("nodes"));
  const PlannedNodes known(names);
  for (std::size_t k = 0; k < nodes->size(); ++k) {
    const Json& entry = (*nodes)[k];
    const JsonFields own(entry, fmt::format("nodes[{}]: ", k), document);
    if (!entry.is_object()) return own.fault("expected an object");
    constexpr std::array<std::string_view, 2> kOfNode = {"node", "device"};
    XFLOW_CHECK(own.only(kOfNode));
    XFLOW_TRY(const std::size_t node, known.find(own));
    if (devices[node]) return own.fault_of("node", fmt::format("node {} has a device already", brief_text(entry["node"])));
    XFLOW_TRY(devices[node], planned_device(own, "device", cluster));
  }
  if (fields.has("default")) {
    XFLOW_TRY(const std::uint32_t others, planned_device(fields, "default", cluster));
    for (auto& device : devices) device = device.value_or(others);
  }
  return devices;
}

std::vector<std::uint32_t> round_robin_plan(const Workload& workload, std::uint32_t devices) {
  std::vector<std::uint32_t> result(workload.nodes.size());
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = static_cast<std::uint32_t>(k % devices);
  return result;
}

std::vector<std::uint32_t> chain_plan(const Workload& workload, std::uint32_t devices) {
  const auto least = [](const WorkloadNode& node) { return *std::min_element(node.seconds.begin(), node.seconds.end()); };
  double total = 0;
  for (const WorkloadNode& node : workload.nodes) total += least(node);
  std::vector<std::uint32_t> result;
  double before = 0;
  for (const WorkloadNode& node : workload.nodes) {
    const double middle = before + least(node) / 2;
    const double part = total > 0 ? middle / total * devices : 0;
    result.push_back(std::min(devices - 1, static_cast<std::uint32_t>(part)));
    before += least(node);
  }
  return result;
}

}  // namespace xflow::parallel
