// Units of time in the interface.
#pragma once

#include <chrono>
#include <ratio>

namespace xflow {

// Times of kernels and of one run of a graph.
using Nanoseconds = std::chrono::duration<double, std::nano>;
// Time limits, and times of calls.
using Seconds = std::chrono::duration<double>;

}  // namespace xflow
