// Published figures of GPUs.
#pragma once

#include <string_view>

#include "src/devices/profile/profile.h"

namespace xflow::cost::profile {

// The figures of the data sheet of a GPU.
struct GpuFigures {
  std::string_view name;  // as CUDA names it
  double gigabytes_per_second = 0;
  double gigaflops = 0;  // in float32, without tensor cores
  int multiprocessors = 0;
  double cache_megabytes = 0;  // of the L2 cache
};
// Figures of a GPU by its name; null for GPUs whose tables no reader has (table.h).
const GpuFigures* find_gpu_figures(std::string_view name);

// The roofline of these figures for float32, with the given launch overhead.
Roofline roofline_of(const GpuFigures& figures, Nanoseconds launch);

}  // namespace xflow::cost::profile
