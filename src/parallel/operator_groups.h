// Groups of operators that share a device when they are placed whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/parallel/split_model.h"
#include "src/parallel/split_workload.h"

namespace xflow::parallel {

// Seconds of each whole operator on each device, with its gradients for a training step.
std::vector<std::vector<double>> whole_seconds(SplitModel& model, std::uint32_t devices, StepKind kind);
// Those of the fastest device.
std::vector<double> least_seconds(const std::vector<std::vector<double>>& seconds);

struct OperatorGroups {
  std::vector<std::vector<std::uint32_t>> members;  // operators; groups are in the order of their first ones
  std::vector<std::uint32_t> of;                    // the group of each operator
};

// At most this number, if all operators are connected.
constexpr std::uint32_t kMostOperatorGroups = 160;

// An operator with a single reader that reads nothing else joins it, as long as no group has more than an
// eighth of a device's share of all work. Mirhoseini et al., Device Placement Optimization with
// Reinforcement Learning, 2017, let all join that have a single reader, which puts branches on one device.
// Where groups are then more than kMostOperatorGroups, those with little work join a neighbour. `seconds`:
// as whole_seconds gives them.
OperatorGroups operator_groups(const SplitModel& model, std::span<const std::vector<double>> seconds);

// The groups that each group reads or that read it, ascending.
std::vector<std::vector<std::uint32_t>> neighbours_of(const SplitModel& model, const OperatorGroups& groups);

}  // namespace xflow::parallel
