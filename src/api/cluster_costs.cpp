#include "src/api/cluster_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/devices/profile/profile_device.h"
#include "src/ir/data_type_from_number.h"
#include "src/support/file.h"
#include "xflow/optimize.h"

namespace xflow::api {

using parallel::ClusterDevice;
using parallel::DeviceCluster;

Result<DeviceCluster> find_cluster(const std::string& name) { return parallel::open_cluster(name); }

namespace {

cost::profile::Profile profile_of(const ClusterDevice& device) {
  cost::profile::Profile profile;
  profile.device.name = "roofline";
  profile.device.model = device.kind;
  profile.roofline.launch = Seconds(device.rates.launch);
  profile.roofline.bandwidth = device.rates.bandwidth;
  for (std::int64_t number = 1; ir::data_type_from_number(number) != ir::DataType::undefined; ++number)
    profile.roofline.peak[ir::data_type_from_number(number)] = device.rates.operations;
  return profile;
}

}  // namespace

Result<void> ClusterCosts::open(const DeviceCluster& cluster, const ClusterCostOptions& options,
                                const std::function<std::size_t()>& bytes_of_run) {
  for (const ClusterDevice& device : cluster.devices) {
    ClusterDevice source = device;
    source.name.clear();
    source.kind.clear();
    source.host = 0;
    source.memory = 0;
    const auto known = std::ranges::find(opened_, source, &Opened::source);
    if (known != opened_.end()) {
      by_device_.push_back(known->costs.get());
      continue;
    }
    XFLOW_TRY(Opened opened, open_one(device, options, bytes_of_run));
    opened.source = std::move(source);
    by_device_.push_back(opened.costs.get());
    opened_.push_back(std::move(opened));
  }
  return {};
}

Result<ClusterCosts::Opened> ClusterCosts::open_one(const ClusterDevice& device, const ClusterCostOptions& options,
                                                    const std::function<std::size_t()>& bytes_of_run) {
  Opened opened{{}, std::make_unique<DeviceCosts>(), {}};
  std::string database;
  if (device.source == parallel::TimeSource::roofline) {
    opened.device->profile = std::make_unique<cost::profile::ProfileDevice>(profile_of(device));
  } else {
    OptimizeOptions own;
    own.warning = options.warning;
    own.device.name = "cpu";
    own.device.threads = device.threads;
    database = options.cost_database;
    if (device.source == parallel::TimeSource::profile) {
      std::filesystem::path path = device.profile;
      if (path.is_relative()) path = std::filesystem::path(options.cluster).parent_path() / path;
      own.device.name = "profile:" + path.string();
      database.clear();
    }
    XFLOW_CHECK(opened.device->open(own, bytes_of_run));
  }
  opened.device->database =
      std::make_shared<cost::Database>(cost::Database::open(database, opened.device->device().info(), options.warning));
  opened.costs = std::make_unique<cost::KernelCosts>(opened.device->device(), *opened.device->database);
  return opened;
}

}  // namespace xflow::api
