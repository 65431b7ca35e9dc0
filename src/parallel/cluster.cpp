#include "src/parallel/cluster.h"

#include <fmt/format.h>

namespace xflow::parallel {
namespace {

// Hosts of like devices, named "gpu0", "gpu1", ...
DeviceCluster uniform_cluster(std::string name, std::uint32_t hosts, std::uint32_t devices_per_host, const ClusterDevice& device,
                              LinkRates inside, LinkRates across) {
  DeviceCluster cluster{std::move(name), {}, hosts, inside, across};
  for (std::uint32_t k = 0; k < hosts * devices_per_host; ++k) {
    cluster.devices.push_back(device);
    cluster.devices.back().name = fmt::format("gpu{}", k);
    cluster.devices.back().host = k / devices_per_host;
  }
  return cluster;
}

// Memory and rates are nominal figures of data sheets. Launches and latencies are assumed.
constexpr double kLaunch = 5e-6;
constexpr LinkRates kNvlink{5e-6, 450e9};   // fourth generation, one direction
constexpr LinkRates kPcie{10e-6, 15.75e9};  // third generation, width 16
constexpr LinkRates kEdr{10e-6, 12.5e9};    // InfiniBand EDR, 100 Gbit/s
constexpr LinkRates kNdr{10e-6, 8 * 50e9};  // eight InfiniBand NDR ports, 400 Gbit/s each
constexpr LinkRates kInside{10e-6, 10e9};   // slow-16
constexpr LinkRates kAcross{10e-6, 6e9};    // slow-16

}  // namespace

std::vector<std::string> cluster_presets() { return {"dgx-h100", "flexflow-k80", "slow-16"}; }

std::optional<DeviceCluster> preset_cluster(std::string_view name) {
  if (name == "dgx-h100") {
    // float32 products in TF32 without sparsity.
    const ClusterDevice device{{}, "H100 SXM", 0, 80e9, {kLaunch, 494e12, 3.35e12}};
    return uniform_cluster("dgx-h100", 1, 8, device, kNvlink, kNdr);
  }
  if (name == "flexflow-k80") {
    // One of the two processors of a board.
    const ClusterDevice device{{}, "K80", 0, 12e9, {kLaunch, 4.37e12, 240e9}};
    return uniform_cluster("flexflow-k80", 16, 4, device, kPcie, kEdr);
  }
  if (name == "slow-16") {
    const ClusterDevice device{{}, "2 Tflop/s", 0, 16e9, {kLaunch, 2e12, 400e9}};
    return uniform_cluster("slow-16", 4, 4, device, kInside, kAcross);
  }
  return std::nullopt;
}

}  // namespace xflow::parallel
