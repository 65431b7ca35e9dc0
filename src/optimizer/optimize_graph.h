// Optimises a graph that was built in code.
#pragma once

#include <xflow/graph.h>
#include <xflow/optimize.h>

namespace xflow::api {

class Session;

// As optimize of <xflow/graph.h>, which catches what it throws.
Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress, Session& session);

}  // namespace xflow::api
