// A step as a Chrome trace.
#pragma once

#include <string>

#include "xflow/simulate.h"

namespace xflow {

// The tasks in Chrome's trace event format. Devices are the threads of process `first`, links and ports
// those of the next one. `before` is put before the names of these processes.
std::string trace_of_step(const SimulationResult& result, int first, const std::string& before);

}  // namespace xflow
