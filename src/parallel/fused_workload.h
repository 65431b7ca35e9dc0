// The workload of the tasks that fusions leave (ordered_step.h), for methods that do not know fusions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/parallel/ordered_step.h"

namespace xflow::parallel {

struct FusedWorkload {
  Workload workload;                   // a node for each task, in the order of their roots
  std::vector<std::uint32_t> task_of;  // node of the workload that has a node of the original one
};

// Merges fused nodes into tasks. The step of the result without fusions is that of the problem's workload
// with them, for the same devices and priorities of tasks. Tensors between nodes of a task are left out.
// `fused` is that of a plan that passes check_ordered_plan.
FusedWorkload fused_workload(const OrderedProblem& problem, const std::vector<bool>& fused);

// For each choice, whether a method that fuses as much as it can along chains takes it: the fusion saves
// time, and no other one into the same node saves more. Then a task is a path, and branches that run beside
// each other are not merged.
std::vector<bool> chain_fusions(const OrderedProblem& problem);

}  // namespace xflow::parallel
