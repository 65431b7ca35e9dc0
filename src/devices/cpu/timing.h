// Repeated timing of functions until what was seen can be repeated.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/kernels/device.h"

namespace xflow::cost::cpu {

struct TimingOptions {
  Nanoseconds sample{20e3};  // launches are grouped into samples of at least this, so that reading the clocks does not count
  Nanoseconds round{300e3};  // a round of samples takes at least this
  Nanoseconds most{10e6};    // no further round begins after this much, except for the `least_rounds`
  int least_rounds = 3;
  int most_samples = 1000;          // of one round
  std::function<bool()> stop = {};  // asked between samples; true ends timing, and no time that is given then means anything
  double spread = 0.02;             // enough if the medians of the two quickest rounds differ by at most this share
};

// Two clocks read one after the other: the CPU time of the calling thread, and the wall.
struct Clocks {
  Nanoseconds thread{};
  Nanoseconds wall{};
};
Clocks now();

// Where the clocks are read. Tests hand in clocks of their own.
using ClockReader = std::function<Clocks()>;

// Times functions that compute the same in different ways, or one alone. Each is run once to warm up, then they take turns in rounds, so
// that what slows the machine for a while slows all of them. The time of a function is the median of its quickest round: noise only
// adds, and a median forgets what a single sample loses. A sample during which the thread did not run (its CPU time is well below the wall
// clock) found its caches used by others and does not count, unless its round has no better one. `thread_time`: the clock that counts is
// the CPU time of the calling thread, which leaves out what other processes take; otherwise the wall clock.
std::vector<KernelCost> time_in_turns(std::span<const std::function<void()>> functions, const TimingOptions& options, bool thread_time,
                                      const ClockReader& read = now);

// How fast this CPU is now: the time of a fixed piece of arithmetic of some ten microseconds, the least of three. It rises while
// neighbours share the core or its clock is low.
Nanoseconds control_time(bool thread_time);
// What this arithmetic is and what compiled it: equal text takes equal time on equal machines.
std::string control_name();

}  // namespace xflow::cost::cpu
