// Times functions repeatedly until the result is reproducible.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/kernels/device.h"

namespace xflow::cost::cpu {

struct TimingOptions {
  // Launches are grouped into samples of at least this time, so that reading the clocks is negligible.
  Nanoseconds sample{20e3};
  Nanoseconds round{300e3};  // minimum time of a round of samples
  // No round begins after this time, except the first `least_rounds`.
  Nanoseconds most{10e6};
  int least_rounds = 3;
  int most_samples = 1000;  // of one round
  // Called between samples. If it returns true, timing ends and the returned times are meaningless.
  std::function<bool()> stop = {};
  // Timing ends when the medians of the two fastest rounds differ by at most this share.
  double spread = 0.02;
};

// Two clocks read one after the other: the CPU time of the calling thread and the wall clock.
struct Clocks {
  Nanoseconds thread{};
  Nanoseconds wall{};
};
Clocks now();

// Reads the clocks. Tests pass clocks of their own.
using ClockReader = std::function<Clocks()>;

// Times one function, or several that compute the same in different ways. Each runs once to warm up. Then
// they run in alternating rounds, so that a temporary slowdown of the machine affects all of them. The time
// of a function is the median of its fastest round: noise only adds time, and the median ignores outliers
// within a round. A sample is interrupted if its CPU time is well below its wall-clock time; other processes
// have used the caches then. Interrupted samples do not count, unless all samples of the round are.
// `thread_time`: measure the CPU time of the calling thread, which excludes other processes; otherwise the
// wall clock.
std::vector<KernelCost> time_interleaved(std::span<const std::function<void()>> functions, const TimingOptions& options, bool thread_time,
                                         const ClockReader& read = now);

// The current speed of this CPU: the time of a calibration kernel, fixed arithmetic of some ten
// microseconds, the minimum of three runs. The time rises while other processes share the core or its clock
// is low.
Nanoseconds calibration_time(bool thread_time);
// Names the calibration kernel and its compiler. Equal texts imply equal times on equal machines.
std::string calibration_name();

}  // namespace xflow::cost::cpu
