// What one run of a whole model takes.
#pragma once

#include <optional>

#include "src/kernels/device.h"

namespace xflow::cost {

struct RunTimes {
  // By the clock of the device: the mean of several runs, their median where the clock is that on the wall.
  Nanoseconds time{};
  // Beside the clock on the wall, of all threads of the process, also while they wait in a loop: the median. Absent where that is not known
  // or is not what a run costs, because another processor works.
  std::optional<Nanoseconds> processor;
};

}  // namespace xflow::cost
