// What a simulated step uses of each device and link.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/step_simulator.h"

namespace xflow::parallel {

struct DeviceUse {
  double busy = 0;      // seconds
  double resident = 0;  // bytes of its nodes
  double peak = 0;      // bytes: `resident`, and the most that tensors need at one time
};

// The transfers of a directed pair of devices.
struct LinkUse {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t transfers = 0;
  double bytes = 0;
  double busy = 0;  // seconds
};

struct StepUse {
  double step = 0;                 // seconds
  std::vector<DeviceUse> devices;  // of the cluster
  std::vector<LinkUse> links;      // that have transfers, by (from, to)
  std::vector<double> ports;       // busy seconds of each host's port

  // The share of the step in which something is busy; 0 for a step without time.
  double utilisation(double busy) const { return step > 0 ? busy / step : 0; }
};

// A tensor needs memory where it is computed from the start of its node to the end of its readers and
// transfers there, or to the end of the step if it has no readers; and where it is received from the start
// of the transfer to the end of its readers there.
StepUse use_of(const Workload& workload, const DeviceCluster& cluster, const StepSimulator& simulator);

// Whether every device holds what it needs. Errors: unsupported, with the first device that does not and the
// bytes that are missing.
Result<void> check_memory(const StepUse& use, const DeviceCluster& cluster);

}  // namespace xflow::parallel
