#include "xflow/graph.h"

#include "xflow/context.h"

namespace xflow {

Result<GraphResult> optimize(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress) {
  Context context;
  return optimize(context, graph, options, progress);
}

}  // namespace xflow
