// The time of one run of a whole model.
#pragma once

#include <optional>

#include "src/kernels/device.h"

namespace xflow::cost {

// The time of one run by the clocks that are available.
struct RunTimes {
  // By the device's clock: the mean of several runs, or their median if it is a wall clock.
  Nanoseconds time{};
  // With a wall clock: the processor time of all threads of the process, including busy waiting; the median.
  // Absent if it is unknown, or if another processor does the work, so that it is not the cost of a run.
  std::optional<Nanoseconds> processor;
};

}  // namespace xflow::cost
