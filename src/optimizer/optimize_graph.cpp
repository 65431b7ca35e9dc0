#include "src/optimizer/optimize_graph.h"

#include <memory>
#include <utility>

#include "src/devices/device_costs.h"
#include "src/optimizer/built_model.h"
#include "src/optimizer/run.h"

namespace xflow::api {

Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress, Session& session) {
  const RunLimits limits(options);
  if (runs_models(options.device) && options.validation.gate)
    return fail(ErrorCode::unsupported, "runners and devices of the caller run ONNX models, not graphs built in code");
  const Session::Call call(session, options);
  XFLOW_TRY(Finished finished, run(std::make_unique<BuiltModel>(graph), options, {limits, progress, session}));
  if (finished.model == nullptr) return GraphResult{graph, std::move(finished.report)};
  return GraphResult{static_cast<BuiltModel&>(*finished.model).take_lowered(), std::move(finished.report)};
}

}  // namespace xflow::api
