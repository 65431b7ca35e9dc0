// The roofline of a cluster's first device as a profile.
#pragma once

#include "src/devices/profile/profile_device.h"
#include "src/parallel/cluster.h"

namespace xflow::bench {

inline cost::profile::Profile profile_of(const parallel::DeviceCluster& cluster) {
  const parallel::DeviceRates& rates = cluster.devices[0].rates;
  cost::profile::Profile profile;
  profile.roofline.launch = Seconds(rates.launch);
  profile.roofline.bandwidth = rates.bandwidth;
  profile.roofline.peak[ir::DataType::float32] = rates.operations;
  profile.roofline.peak[ir::DataType::int64] = rates.operations;
  return profile;
}

}  // namespace xflow::bench
