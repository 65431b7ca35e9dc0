// Clusters: devices on hosts, and the links between them (docs/parallel.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xflow/error.h"

namespace xflow::parallel {

// The roofline of a device of a cluster.
struct DeviceRates {
  double launch = 0;      // seconds of a kernel launch
  double operations = 0;  // per second, positive
  double bandwidth = 0;   // bytes per second, positive

  double seconds(double operation_count, double bytes) const { return launch + std::max(operation_count / operations, bytes / bandwidth); }
  friend bool operator==(const DeviceRates&, const DeviceRates&) = default;
};

// Where the times of kernels on a device come from.
enum class TimeSource : std::uint8_t {
  roofline,  // ClusterDevice::rates
  profile,   // a profile of the device (docs/cost.md, *Profiles*)
  cpu,       // kernels are timed on this machine
};

struct ClusterDevice {
  std::string name;  // unique in the cluster
  std::string kind;
  std::uint32_t host = 0;
  double memory = 0;  // bytes
  DeviceRates rates;  // of a roofline
  TimeSource source = TimeSource::roofline;
  std::string profile = {};  // file of a profile, as in the document
  int threads = 1;           // of one kernel on this CPU
  friend bool operator==(const ClusterDevice&, const ClusterDevice&) = default;
};

struct LinkRates {
  double latency = 0;    // seconds of a transfer without its bytes
  double bandwidth = 0;  // bytes per second, positive

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
  friend bool operator==(const LinkRates&, const LinkRates&) = default;
};

// Each directed pair of devices of one host has a link of its own. Transfers from a host to other hosts
// share the outgoing port of the host. Devices, links and ports serve one task at a time.
struct DeviceCluster {
  std::string name;
  std::vector<ClusterDevice> devices;
  std::uint32_t hosts = 1;  // the hosts of devices are below it
  LinkRates inside;         // of a pair in a host
  LinkRates across;         // of a port

  std::uint32_t size() const { return static_cast<std::uint32_t>(devices.size()); }
  bool same_host(std::uint32_t a, std::uint32_t b) const { return devices[a].host == devices[b].host; }
  const LinkRates& link(std::uint32_t from, std::uint32_t to) const { return same_host(from, to) ? inside : across; }

  // What serves tasks: devices by their numbers, then pairs, then ports.
  std::uint32_t resources() const { return size() + size() * size() + hosts; }
  std::uint32_t link_resource(std::uint32_t from, std::uint32_t to) const {
    return same_host(from, to) ? size() + from * size() + to : port_resource(devices[from].host);
  }
  std::uint32_t port_resource(std::uint32_t host) const { return size() + size() * size() + host; }
};

constexpr std::uint32_t kMostClusterDevices = 1024;

// Reads a cluster (docs/cluster.schema.json). Errors: unreadable, with the first fault, its line and its
// field or device.
Result<DeviceCluster> read_cluster(std::string_view text, const std::string& where);

// The cluster that is built in under this name, or that of a file. Errors: unreadable.
Result<DeviceCluster> open_cluster(const std::string& name);

// The names of the clusters that are built in.
std::vector<std::string> cluster_presets();
// nullopt for any other name.
std::optional<DeviceCluster> preset_cluster(std::string_view name);

}  // namespace xflow::parallel
