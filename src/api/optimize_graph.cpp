#include <chrono>
#include <exception>
#include <map>
#include <new>

#include "src/api/engine.h"
#include "src/api/public_graph.h"
#include "src/api/region_check.h"
#include "src/eval/evaluate.h"
#include "src/ops/operator.h"
#include "xflow/graph.h"

namespace xflow {
namespace {

// Operations that are computed when the graph runs.
std::size_t count_operations(const ir::Arena& arena, const ir::Graph& graph) {
  std::size_t count = 0;
  for (const ir::NodeId id : ir::topological_order(arena, graph))
    if (arena.node(id).kind == ir::NodeKind::operation && !arena.node(id).is_constant) ++count;
  return count;
}

Result<GraphResult> optimize_graph(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress) {
  const auto start = std::chrono::steady_clock::now();
  if (!options.runner.empty() && options.gate)
    return fail(ErrorCode::unsupported, "runners take ONNX models, not graphs that were built in code");
  ir::Arena arena;
  XFLOW_TRY(const api::BuiltGraph built, api::to_ir(graph, arena));
  std::vector<api::NamedInput> inputs;
  inputs.reserve(built.inputs.size());
  for (std::size_t k = 0; k < built.inputs.size(); ++k) inputs.push_back({graph.inputs()[k].name, built.inputs[k]});
  OptimizeReport report;
  report.nodes_before = report.nodes_after = report.nodes_kept = graph.nodes().size();
  XFLOW_TRY(const search::Outcome outcome, api::improve({arena, built.graph, inputs, {}}, options, progress, report));
  for (const search::Step& step : outcome.steps) report.steps.push_back({step.rule, {}, step.gain.value});
  const auto finish = [&](Graph result) {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return GraphResult{std::move(result), std::move(report)};
  };
  const auto keep_original = [&](std::string reason) {
    report.reason = std::move(reason);
    report.after_nanoseconds = report.before_nanoseconds;
    report.constant_bytes_after = report.constant_bytes_before;
    return finish(graph);
  };
  if (outcome.steps.empty()) return keep_original("no proved rule makes it cheaper");
  std::map<ir::ValueId, ir::Constant> folded;
  const auto fold = [&](ir::ValueId value) -> Result<ir::Constant> {
    if (const auto known = folded.find(value); known != folded.end()) return known->second;
    XFLOW_TRY(ir::Constant constant, eval::fold(arena, value));
    return folded.emplace(value, std::move(constant)).first->second;
  };
  const api::RegionCheck check{
      arena, built.graph, outcome.best, outcome.correspondence, inputs, options.shapes, [](ir::ValueId) { return std::string(); }, fold};
  auto checked = api::check_regions(check);
  if (!checked) return keep_original("the rewritten parts could not be executed: " + checked.error().text());
  report.regions = std::move(checked->regions);
  report.checked_sizes = std::move(checked->sizes);
  report.skipped_sizes = std::move(checked->skipped);
  for (const OptimizeReport::Region& region : report.regions)
    if (!region.agrees) return keep_original("a rewritten value does not agree with the original: " + region.message);
  auto better = api::from_ir(graph, arena, built, outcome.best, fold);
  if (!better) return keep_original(better.error().text());
  report.improved = true;
  report.nodes_after = count_operations(arena, outcome.best);
  report.nodes_kept = 0;
  const ir::Uses before(arena, built.graph);
  for (const ir::NodeId id : ir::topological_order(arena, outcome.best))
    if (arena.node(id).kind == ir::NodeKind::operation && !arena.node(id).is_constant && before.contains(id)) ++report.nodes_kept;
  return finish(*std::move(better));
}

}  // namespace

Result<GraphResult> optimize(const Graph& graph, const OptimizeOptions& options, const ProgressCallback& progress) {
  // Exceptions of the standard library (no memory) must not cross the public interface.
  try {
    return optimize_graph(graph, options, progress);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::limit, "out of memory");
  } catch (const std::exception& e) {
    return fail(ErrorCode::internal, e.what());
  }
}

}  // namespace xflow
