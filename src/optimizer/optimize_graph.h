// Optimises a graph built in code.
#pragma once

#include <xflow/graph.h>
#include <xflow/optimize.h>

namespace xflow::api {

class Session;

// Implements optimize of <xflow/graph.h>, which catches exceptions.
Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress, Session& session);

}  // namespace xflow::api
