// Reads clusters from JSON.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "src/parallel/cluster.h"
#include "src/parallel/json_fields.h"
#include "src/support/file.h"

namespace xflow::parallel {
namespace {

constexpr int kMostThreads = 1024;

// A number above 0.
Result<double> read_rate(const JsonFields& fields, const char* name) {
  XFLOW_TRY(const double rate, fields.amount(name));
  if (rate == 0) return fields.fault_of(name, fmt::format("'{}' is 0", name));
  return rate;
}

Result<LinkRates> read_link(const JsonFields& cluster, const char* name) {
  XFLOW_TRY(const Json* json, cluster.find(name));
  const JsonFields fields(*json, fmt::format("'{}': ", name), cluster.document());
  if (!json->is_object()) return fields.fault("expected an object");
  constexpr std::array<std::string_view, 2> kKnown = {"latency", "bandwidth"};
  XFLOW_CHECK(fields.only(kKnown));
  LinkRates link;
  XFLOW_TRY(link.latency, fields.amount("latency"));
  XFLOW_TRY(link.bandwidth, read_rate(fields, "bandwidth"));
  return link;
}

Result<DeviceRates> read_rates(const JsonFields& owner, const std::string& name) {
  XFLOW_TRY(const Json* json, owner.find("roofline"));
  const JsonFields fields(*json, fmt::format("device '{}': 'roofline': ", name), owner.document());
  if (!json->is_object()) return fields.fault("expected an object");
  constexpr std::array<std::string_view, 3> kKnown = {"launch", "operations", "bandwidth"};
  XFLOW_CHECK(fields.only(kKnown));
  DeviceRates rates;
  XFLOW_TRY(rates.launch, fields.amount("launch"));
  XFLOW_TRY(rates.operations, read_rate(fields, "operations"));
  XFLOW_TRY(rates.bandwidth, read_rate(fields, "bandwidth"));
  return rates;
}

Result<int> read_threads(const JsonFields& owner, const std::string& name) {
  XFLOW_TRY(const Json* json, owner.find("cpu"));
  const JsonFields fields(*json, fmt::format("device '{}': 'cpu': ", name), owner.document());
  if (!json->is_object()) return fields.fault("expected an object");
  constexpr std::array<std::string_view, 1> kKnown = {"threads"};
  XFLOW_CHECK(fields.only(kKnown));
  if (!fields.has("threads")) return 1;
  XFLOW_TRY(const std::int64_t threads, fields.integer("threads"));
  if (threads < 1 || threads > kMostThreads)
    return fields.fault_of("threads", fmt::format("'threads' is not from 1 to {}: {}", kMostThreads, threads));
  return static_cast<int>(threads);
}

// Where the times of a device come from: exactly one of three fields.
Result<void> read_source(const JsonFields& fields, ClusterDevice& device) {
  if (int{fields.has("roofline")} + int{fields.has("profile")} + int{fields.has("cpu")} != 1)
    return fields.fault("needs one of 'roofline', 'profile' and 'cpu'");
  if (fields.has("profile")) {
    device.source = TimeSource::profile;
    XFLOW_TRY(device.profile, fields.text("profile"));
    return {};
  }
  if (fields.has("cpu")) {
    device.source = TimeSource::cpu;
    XFLOW_TRY(device.threads, read_threads(fields, device.name));
    return {};
  }
  XFLOW_TRY(device.rates, read_rates(fields, device.name));
  return {};
}

Result<ClusterDevice> read_device(const Json& json, std::size_t position, const JsonDocument& document) {
  if (!json.is_object()) return document.fault(json, fmt::format("devices[{}] is not an object", position));
  ClusterDevice device;
  XFLOW_TRY(device.name, JsonFields(json, fmt::format("devices[{}]: ", position), document).text("name"));
  const JsonFields fields(json, fmt::format("device '{}': ", device.name), document);
  constexpr std::array<std::string_view, 7> kKnown = {"name", "kind", "host", "memory", "roofline", "profile", "cpu"};
  XFLOW_CHECK(fields.only(kKnown));
  XFLOW_TRY(device.kind, fields.text("kind"));
  if (fields.has("host")) {
    XFLOW_TRY(const std::int64_t host, fields.integer("host"));
    if (host < 0 || host >= kMostClusterDevices)
      return fields.fault_of("host", fmt::format("'host' is not from 0 to {}: {}", kMostClusterDevices - 1, host));
    device.host = static_cast<std::uint32_t>(host);
  }
  XFLOW_TRY(device.memory, fields.amount("memory"));
  XFLOW_CHECK(read_source(fields, device));
  return device;
}

}  // namespace

Result<DeviceCluster> read_cluster(std::string_view text, const std::string& where) {
  XFLOW_TRY(const JsonDocument document, JsonDocument::parse(text, where, "a cluster"));
  const JsonFields fields(document.root(), "the cluster: ", document);
  constexpr std::array<std::string_view, 4> kKnown = {"name", "devices", "inside", "across"};
  XFLOW_CHECK(fields.only(kKnown));
  DeviceCluster cluster;
  XFLOW_TRY(cluster.name, fields.text("name"));
  XFLOW_TRY(const Json* devices, fields.array("devices"));
  if (devices->empty()) return fields.fault_of("devices", "'devices' is empty");
  if (devices->size() > kMostClusterDevices) return fields.fault_of("devices", fmt::format("more than {} devices", kMostClusterDevices));
  std::set<std::string> names;
  std::set<std::uint32_t> hosts;
  for (std::size_t k = 0; k < devices->size(); ++k) {
    const Json& json = (*devices)[k];
    XFLOW_TRY(ClusterDevice device, read_device(json, k, document));
    if (!names.insert(device.name).second) return fields.fault_at(json, fmt::format("device '{}' occurs twice", device.name));
    hosts.insert(device.host);
    cluster.hosts = std::max(cluster.hosts, device.host + 1);
    cluster.devices.push_back(std::move(device));
  }
  // A link that no pair of devices uses may be omitted.
  cluster.inside = cluster.across = {0, 1};
  if (fields.has("inside") || hosts.size() < cluster.devices.size()) {
    XFLOW_TRY(cluster.inside, read_link(fields, "inside"));
  }
  if (fields.has("across") || hosts.size() > 1) {
    XFLOW_TRY(cluster.across, read_link(fields, "across"));
  }
  return cluster;
}

Result<DeviceCluster> open_cluster(const std::string& name) {
  if (auto preset = preset_cluster(name)) return *std::move(preset);
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored) && std::filesystem::path(name).extension() != ".json") {
    return fail(ErrorCode::unreadable,
                fmt::format("neither a file nor a cluster that is built in ({})", fmt::join(cluster_presets(), ", ")), name);
  }
  XFLOW_TRY(const auto file, onnx_io::FileBytes::open(name));
  return read_cluster(file->bytes(), name);
}

}  // namespace xflow::parallel
