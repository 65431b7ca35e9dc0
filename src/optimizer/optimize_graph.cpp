#include "src/optimizer/optimize_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"
#include "src/optimizer/built_graph.h"
#include "src/optimizer/checked_search.h"
#include "src/optimizer/engine.h"
#include "src/validation/device_gate.h"

namespace xflow::api {
namespace {

// Operations that are computed when the graph runs.
std::size_t count_operations(const ir::Arena& arena, const ir::Graph& graph) {
  std::size_t count = 0;
  for (const ir::NodeId id : ir::topological_order(arena, graph))
    if (arena.node(id).kind == ir::NodeKind::operation && !arena.node(id).is_constant) ++count;
  return count;
}

// "node 3 (relu)" for a value of the graph; nothing for another.
std::string place_of(const Graph& graph, const BuiltGraph& built, ir::ValueId value) {
  const auto node = std::ranges::find(built.nodes, value.node);
  if (node == built.nodes.end()) return {};
  const auto number = static_cast<std::size_t>(node - built.nodes.begin());
  return fmt::format("node {} ({})", number, graph.nodes()[number].op);
}

}  // namespace

Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& all_options, const ProgressCallback& progress,
                                   Session& session) {
  const RunLimits limits(all_options);
  if (runs_models(all_options.device) && all_options.validation.gate)
    return fail(ErrorCode::unsupported, "a runner, or a device of the caller, takes ONNX models, not graphs that were built in code");
  ir::Arena arena;
  XFLOW_TRY(const BuiltGraph built, to_ir(graph, arena));
  std::vector<NamedInput> inputs;
  inputs.reserve(built.inputs.size());
  for (std::size_t k = 0; k < built.inputs.size(); ++k) inputs.push_back({graph.inputs()[k].name, built.inputs[k]});
  XFLOW_TRY(const RunInputs runs, run_inputs(arena, built.graph, inputs, inputs, all_options));
  // Costs are those at the first choice of sizes.
  OptimizeOptions options = all_options;
  options.input.shapes = runs.shapes[0];
  if (is_elsewhere(options)) options.validation.gate = false;
  OptimizeReport report;
  report.nodes.before = report.nodes.after = report.nodes.kept = graph.nodes().size();
  std::map<ir::ValueId, ir::Constant> folded;
  const eval::Options fold_options = within(limits);
  const auto fold = [&](ir::ValueId value) -> Result<ir::Constant> {
    if (const auto known = folded.find(value); known != folded.end()) return known->second;
    XFLOW_TRY(ir::Constant constant, eval::fold(arena, value, fold_options));
    return folded.emplace(value, std::move(constant)).first->second;
  };
  Problem problem{arena, built.graph, inputs};
  problem.name_of = [](ir::ValueId) { return std::string(); };
  problem.place_of = [&](ir::ValueId value) { return place_of(graph, built, value); };
  problem.fold = fold;
  std::vector<GraphMove> moves = graph_moves(graph, built, arena);
  problem.moves = &moves;
  const Session::Call call(session, all_options);
  problem.session = &session;
  problem.limits = &limits;
  problem.runs = &runs;
  XFLOW_TRY(search::Outcome outcome, improve(problem, options, progress, report));
  const std::vector<search::Finalist> finalists = api::finalists(std::move(outcome));
  const auto list_steps = [&](const search::Finalist& found) {
    report.search.steps.clear();
    for (const search::Step& step : found.steps)
      report.search.steps.push_back(
          {step.rule, step.originals.empty() ? "" : place_of(graph, built, step.originals[0]), Nanoseconds(step.gain.value)});
  };
  list_steps(finalists[0]);
  const auto finish = [&](Graph result) {
    report.time = Seconds(limits.seconds());
    return GraphResult{std::move(result), std::move(report)};
  };
  const auto keep_original = [&](std::string reason, std::optional<Nanoseconds> predicted = {}) {
    api::keep_original(std::move(reason), predicted, report);
    if (limits.is_over()) report.search.stop_reason = search::name(search::StopReason::time_limit);
    return finish(graph);
  };
  const bool moves_alone = finalists[0].steps.empty();
  if (moves_alone && !gain_time(moves)) return keep_original(report.reason);
  if (moves_alone && options.validation.gate) return keep_original(report.gate.reason = no_gain_of_moves(moves));
  report.reason.clear();
  const auto public_graph = [&](const search::Finalist& found) { return from_ir(graph, arena, built, found.graph, fold); };
  auto better = public_graph(finalists[0]);
  if (!better) return keep_original(better.error().text());
  std::size_t shipped = 0;
  if (options.validation.gate) {
    std::vector<std::string> outputs;
    outputs.reserve(graph.outputs().size());
    for (const GraphOutput& output : graph.outputs()) outputs.push_back(output.name);
    const std::function<void()> running = api::running(progress, options, limits, report);
    const auto judged = [&](std::size_t k) -> std::string {
      if (k > 0) better = public_graph(finalists[k]);
      if (!better) return better.error().text();
      return judge_on_device({arena, built.graph, inputs, {}, outputs, runs, options, session.costs(), limits}, finalists[k].graph, running,
                             report);
    };
    std::string against;
    const auto passed = judge_in_turn(problem, runs, finalists, options, judged, against, report);
    XFLOW_CHECK(limits.check());
    if (!passed) return keep_original("run from end to end, " + against, report.predicted.after);
    shipped = *passed;
    list_steps(finalists[shipped]);
  } else {
    report.gate.reason = why_not_run(options, "graph", "gate = false");
  }
  list_moves(moves, report);
  report.improved = true;
  report.nodes.merged =
      static_cast<std::uint64_t>(std::ranges::count_if(moves, [](const GraphMove& move) { return move.rule == "merge-equal-nodes"; }));
  report.nodes.after = count_operations(arena, finalists[shipped].graph);
  report.nodes.kept = 0;
  const ir::Uses before(arena, built.graph);
  for (const ir::NodeId id : ir::topological_order(arena, finalists[shipped].graph))
    if (arena.node(id).kind == ir::NodeKind::operation && !arena.node(id).is_constant && before.contains(id)) ++report.nodes.kept;
  return finish(*std::move(better));
}

}  // namespace xflow::api
