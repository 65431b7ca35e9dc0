// Reads clusters from JSON.
#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "src/parallel/cluster.h"
#include "src/parallel/json_fields.h"

namespace xflow::parallel {
namespace {

Result<void> check_fields(const Json& object, std::span<const std::string_view> known, const JsonFields& fields) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) return fields.fault(fmt::format("unknown field '{}'", name));
  }
  return {};
}

Result<std::string> read_name(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const Json* value, fields.find(name));
  if (!value->is_string() || value->get_ref<const std::string&>().empty())
    return fields.fault(fmt::format("'{}' is not a text, or empty", name));
  return value->get<std::string>();
}

// A number above 0.
Result<double> read_rate(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const double rate, fields.amount(name));
  if (rate == 0) return fields.fault(fmt::format("'{}' is 0", name));
  return rate;
}

Result<LinkRates> read_link(const Json& cluster, const char* name, const std::string& where) {
  XFLOW_TRY(const Json* json, JsonFields(cluster, "the cluster: ", where).find(name));
  const JsonFields fields(*json, fmt::format("'{}': ", name), where);
  if (!json->is_object()) return fields.fault("expected an object");
  constexpr std::array<std::string_view, 2> kKnown = {"latency", "bandwidth"};
  XFLOW_CHECK(check_fields(*json, kKnown, fields));
  LinkRates link;
  XFLOW_TRY(link.latency, fields.amount("latency"));
  XFLOW_TRY(link.bandwidth, read_rate(fields, "bandwidth"));
  return link;
}

Result<DeviceRates> read_rates(const JsonFields& owner, const std::string& name, const std::string& where) {
  XFLOW_TRY(const Json* json, owner.find("roofline"));
  const JsonFields fields(*json, fmt::format("device '{}': 'roofline': ", name), where);
  if (!json->is_object()) return fields.fault("expected an object");
  constexpr std::array<std::string_view, 3> kKnown = {"launch", "operations", "bandwidth"};
  XFLOW_CHECK(check_fields(*json, kKnown, fields));
  DeviceRates rates;
  XFLOW_TRY(rates.launch, fields.amount("launch"));
  XFLOW_TRY(rates.operations, read_rate(fields, "operations"));
  XFLOW_TRY(rates.bandwidth, read_rate(fields, "bandwidth"));
  return rates;
}

Result<ClusterDevice> read_device(const Json& json, std::size_t position, const std::string& where) {
  if (!json.is_object()) return fail(ErrorCode::unreadable, fmt::format("devices[{}] is not an object", position), where);
  ClusterDevice device;
  XFLOW_TRY(device.name, read_name(JsonFields(json, fmt::format("devices[{}]: ", position), where), "name"));
  const JsonFields fields(json, fmt::format("device '{}': ", device.name), where);
  constexpr std::array<std::string_view, 5> kKnown = {"name", "kind", "host", "memory", "roofline"};
  XFLOW_CHECK(check_fields(json, kKnown, fields));
  XFLOW_TRY(device.kind, read_name(fields, "kind"));
  if (fields.has("host")) {
    XFLOW_TRY(const std::int64_t host, fields.integer("host"));
    if (host < 0 || host >= kMostClusterDevices)
      return fields.fault(fmt::format("'host' is not from 0 to {}: {}", kMostClusterDevices - 1, host));
    device.host = static_cast<std::uint32_t>(host);
  }
  XFLOW_TRY(device.memory, fields.amount("memory"));
  XFLOW_TRY(device.rates, read_rates(fields, device.name, where));
  return device;
}

}  // namespace

Result<DeviceCluster> read_cluster(std::string_view text, const std::string& where) {
  XFLOW_TRY(const Json json, parse_object(text, where, "a cluster"));
  const JsonFields fields(json, "the cluster: ", where);
  constexpr std::array<std::string_view, 4> kKnown = {"name", "devices", "inside", "across"};
  XFLOW_CHECK(check_fields(json, kKnown, fields));
  DeviceCluster cluster;
  XFLOW_TRY(cluster.name, read_name(fields, "name"));
  XFLOW_TRY(const Json* devices, fields.array("devices"));
  if (devices->empty()) return fields.fault("'devices' is empty");
  if (devices->size() > kMostClusterDevices) return fields.fault(fmt::format("more than {} devices", kMostClusterDevices));
  std::set<std::string> names;
  std::set<std::uint32_t> hosts;
  for (std::size_t k = 0; k < devices->size(); ++k) {
    XFLOW_TRY(ClusterDevice device, read_device((*devices)[k], k, where));
    if (!names.insert(device.name).second) return fields.fault(fmt::format("device '{}' occurs twice", device.name));
    hosts.insert(device.host);
    cluster.hosts = std::max(cluster.hosts, device.host + 1);
    cluster.devices.push_back(std::move(device));
  }
  // A link that no pair of devices uses may be omitted.
  cluster.inside = cluster.across = {0, 1};
  if (fields.has("inside") || hosts.size() < cluster.devices.size()) {
    XFLOW_TRY(cluster.inside, read_link(json, "inside", where));
  }
  if (fields.has("across") || hosts.size() > 1) {
    XFLOW_TRY(cluster.across, read_link(json, "across", where));
  }
  return cluster;
}

}  // namespace xflow::parallel
