// Tables of a simulated step, for people.
#pragma once

#include <string>

#include "xflow/simulate.h"

namespace xflow {

constexpr double kMilliseconds = 1e3;  // of a second

std::string device_table(const SimulationResult& result);
std::string link_table(const SimulationResult& result);
// The devices that lack memory, a line each.
std::string memory_lines(const SimulationResult& result);

}  // namespace xflow
