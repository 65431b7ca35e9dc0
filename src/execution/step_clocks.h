// Puts the times that processes measured by their own clocks on the time of their step.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace xflow::execution {

// A name of std::chrono::steady_clock here. Processes with one name read one clock: those of one boot of a
// machine and of one time namespace (Linux, time_namespaces(7)). Empty where the system does not say.
std::string steady_clock_name();

// The second of each step at which each process began it, by [step][process]. The first one began it at 0.
// `clocks`: names, by process; a process without a name shares its clock with no other. `begins`: readings
// of these clocks in seconds, by [step][process]. Between two clocks the difference is unknown: it is the
// median over the steps of how much later the first process of the one began by its own clock, as they leave
// a barrier together.
std::vector<std::vector<double>> begins_of_steps(std::span<const std::string> clocks, std::span<const std::vector<double>> begins);

}  // namespace xflow::execution
