// The graph of a plan: the parts of operators as operations, with slices, concatenations and sums between
// them. It computes what the model computes.
#pragma once

#include <xflow/error.h>

#include "src/ir/graph.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

// In the arena of the model, for its outputs `graph.outputs`, in their order. Every operator has a possible
// plan. Copies compute the same, and are one. Errors: those of typing a part, which its proof excludes.
Result<ir::Graph> graph_of(SplitModel& model, const ir::Graph& graph, const SplitPlan& plan);

}  // namespace xflow::parallel
