#include "src/optimizer/optimize_graph.h"

#include <memory>
#include <optional>
#include <utility>

#include "src/devices/device_costs.h"
#include "src/optimizer/built_model.h"
#include "src/optimizer/replay.h"
#include "src/optimizer/run.h"

namespace xflow::api {

Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& given, const ProgressCallback& progress, Session& session) {
  const OptimizeOptions options = given.search.replay ? replay_options(given) : given;
  const RunLimits limits(options);
  if (runs_models(options.device) && options.validation.gate)
    return fail(ErrorCode::unsupported, "runners and devices of the caller run ONNX models, not graphs built in code");
  const Session::Call call(session, options);
  std::optional<Replay> replay;
  if (options.search.replay) replay.emplace(*options.search.replay);
  RunContext context{limits, progress, session};
  context.replay = replay ? &*replay : nullptr;
  XFLOW_TRY(Finished finished, run(std::make_unique<BuiltModel>(graph), options, context));
  if (replay) XFLOW_CHECK(replay->check_end(limits));
  if (replay) mark_replayed(finished.report);
  describe_call(options, false, {}, finished.report.trace);
  if (finished.model == nullptr) return GraphResult{graph, std::move(finished.report)};
  return GraphResult{static_cast<BuiltModel&>(*finished.model).take_lowered(), std::move(finished.report)};
}

}  // namespace xflow::api
