// Repeated timing of a function until its spread is small.
#pragma once

#include <functional>

#include "src/cost/device.h"

namespace xflow::cost::cpu {

struct TimingOptions {
  Nanoseconds sample{20e3};  // launches are grouped into samples of at least this, so that reading the clock does not count
  Nanoseconds least{1e6};    // measured for at least this long
  Nanoseconds most{10e6};    // and not longer than this, except for the `least_samples`
  int least_samples = 5;
  int most_samples = 1000;
  double spread = 0.05;  // enough if the interquartile range is at most this share of the median
};

// The clock of the calling thread's CPU time (one thread) or of the wall (several). CPU time does not count what other processes take.
Nanoseconds now(bool thread_time);

// Runs once to warm up, then until the spread is small. The layouts of the result are left as they are.
KernelCost time_repeatedly(const std::function<void()>& run, const TimingOptions& options, bool thread_time);

// How fast this CPU is now: the time of a fixed piece of arithmetic of some ten microseconds, the least of three. It rises while
// neighbours share the core or its clock is low.
Nanoseconds control_time(bool thread_time);

}  // namespace xflow::cost::cpu
