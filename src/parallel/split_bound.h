// Lower bounds of the step of all plans that split operators.
#pragma once

#include <optional>

#include "src/parallel/cluster.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

struct StepBound {
  double seconds = 0;
  bool is_path = false;  // the longest path; otherwise the work of all devices
};

// No plan has a shorter step, whatever it splits and copies:
// - the work of all operators, divided over the devices without loss, each on the device that is fastest for
//   it;
// - the longest path, of which each operator is divided over all devices, but for its launches.
// nullopt if a device has no roofline: measured kernels may gain more by a split than it divides.
std::optional<StepBound> step_bound(SplitModel& model, const DeviceCluster& cluster, StepKind kind);

}  // namespace xflow::parallel
