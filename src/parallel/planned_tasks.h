// The tasks of an operator with its plan: its parts, and the all-reduces of reductions and of gradients.
#pragma once

#include "src/parallel/cluster.h"
#include "src/parallel/planned_operators.h"
#include "src/parallel/split_model.h"

namespace xflow::parallel {

// The parts, then for each box and copy of a reduction a task for each device where the all-reduce ends.
PlannedTasks forward_tasks(SplitModel& model, const DeviceCluster& cluster, const PlannedOperator& planned);

// The gradients of the parts. If gradients are added before, there are first, for each box, a task for each
// part that has it, which waits for the gradients that are sent there, and where several parts have it, one
// for each device where their all-reduce ends.
PlannedTasks backward_tasks(SplitModel& model, const DeviceCluster& cluster, const PlannedOperator& planned, bool is_added);

}  // namespace xflow::parallel
