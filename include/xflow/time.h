// Times, in the units in which the interface gives them.
#pragma once

#include <chrono>
#include <ratio>

namespace xflow {

// Of kernels and of one run of a graph.
using Nanoseconds = std::chrono::duration<double, std::nano>;
// Of limits, and of what a call took.
using Seconds = std::chrono::duration<double>;

}  // namespace xflow
