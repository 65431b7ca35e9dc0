// The cluster of a call, and the kernel costs of its devices.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/cost/kernel_costs.h"
#include "src/devices/device_costs.h"
#include "src/parallel/cluster.h"

namespace xflow::api {

// A cluster that is built in, or that of a file. Errors: unreadable.
Result<parallel::DeviceCluster> find_cluster(const std::string& name);

struct ClusterCostOptions {
  std::string cluster;        // as for find_cluster: profiles are relative to its folder
  std::string cost_database;  // of devices that are this CPU; empty: none
  std::function<void(const std::string&)> warning;
};

// Kernel costs of the devices of a cluster. Devices with the same source of times share one.
class ClusterCosts {
 public:
  // `bytes_of_run`: as DeviceCosts::open.
  Result<void> open(const parallel::DeviceCluster& cluster, const ClusterCostOptions& options,
                    const std::function<std::size_t()>& bytes_of_run);

  std::span<cost::KernelCosts* const> by_device() const { return by_device_; }
  DeviceCosts& first() const { return *opened_.front().device; }  // of the first device

 private:
  struct Opened {
    parallel::ClusterDevice source;
    std::unique_ptr<DeviceCosts> device;
    std::unique_ptr<cost::KernelCosts> costs;
  };
  static Result<Opened> open_one(const parallel::ClusterDevice& device, const ClusterCostOptions& options,
                                 const std::function<std::size_t()>& bytes_of_run);

  std::vector<Opened> opened_;
  std::vector<cost::KernelCosts*> by_device_;
};

}  // namespace xflow::api
