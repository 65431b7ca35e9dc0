#include "src/optimizer/built_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/eval/evaluate.h"
#include "src/optimizer/session.h"
#include "src/optimizer/shipping.h"
#include "src/validation/device_gate.h"

namespace xflow::api {
namespace {

// Counts the operations that are computed when the graph runs.
std::size_t count_operations(const ir::Arena& arena, const ir::Graph& graph) {
  std::size_t count = 0;
  for (const ir::NodeId id : ir::topological_order(arena, graph))
    if (arena.node(id).kind == ir::NodeKind::operation && !arena.node(id).is_constant) ++count;
  return count;
}

}  // namespace

Result<void> BuiltModel::lift(const OptimizeOptions& options, const RunLimits& limits, OptimizeReport& report) {
  limits_ = &limits;
  report.nodes.before = report.nodes.after = report.nodes.kept = graph_.nodes().size();
  XFLOW_TRY(built_, to_ir(graph_, arena_));
  inputs_.reserve(built_.inputs.size());
  for (std::size_t k = 0; k < built_.inputs.size(); ++k) inputs_.push_back({graph_.inputs()[k].name, built_.inputs[k]});
  XFLOW_TRY(runs_, run_inputs(arena_, built_.graph, inputs_, inputs_, options));
  return {};
}

Problem BuiltModel::problem() {
  Problem problem{arena_, built_.graph, inputs_};
  problem.name_of = [](ir::ValueId) { return std::string(); };
  problem.place_of = [this](ir::ValueId value) { return place_of(value); };
  problem.fold = [this](ir::ValueId value) { return fold(value); };
  problem.limits = limits_;
  problem.runs = &runs_;
  return problem;
}

std::string BuiltModel::place_of(ir::ValueId value) const {
  const auto node = std::ranges::find(built_.nodes, value.node);
  if (node == built_.nodes.end()) return {};
  const auto number = static_cast<std::size_t>(node - built_.nodes.begin());
  return fmt::format("node {} ({})", number, graph_.nodes()[number].op);
}

Result<ir::Constant> BuiltModel::fold(ir::ValueId value) {
  if (const auto known = folded_.find(value); known != folded_.end()) return known->second;
  XFLOW_TRY(ir::Constant constant, eval::fold(arena_, value, within(*limits_)));
  return folded_.emplace(value, std::move(constant)).first->second;
}

void BuiltModel::list_steps(const search::Finalist& found, OptimizeReport& report) const {
  report.search.steps.clear();
  for (const search::Step& step : found.steps)
    report.search.steps.push_back({step.rule, step.originals.empty() ? "" : place_of(step.originals[0]), step.gain});
}

Acceptance BuiltModel::lower(const search::Finalist& found) {
  auto result = from_ir(graph_, arena_, built_, found.graph, [this](ir::ValueId value) { return fold(value); });
  if (!result) return refused(result.error().text());
  lowered_ = *std::move(result);
  return accepted();
}

Acceptance BuiltModel::judge(const Problem& problem, const search::Finalist& found, const OptimizeOptions& options,
                             const std::function<void()>& progress, OptimizeReport& report) {
  std::vector<std::string> outputs;
  outputs.reserve(graph_.outputs().size());
  for (const GraphOutput& output : graph_.outputs()) outputs.push_back(output.name);
  return judge_on_device({arena_, built_.graph, inputs_, {}, outputs, runs_, options, problem.session->costs(), *limits_}, found.graph,
                         progress, report)
      .acceptance;
}

std::string BuiltModel::why_not_run(const OptimizeOptions& options) const { return api::why_not_run(options, "graph"); }

void BuiltModel::count_nodes(const search::Finalist& found, std::span<const Simplification> simplifications, OptimizeReport& report) const {
  report.nodes.merged = static_cast<std::uint64_t>(std::ranges::count_if(
      simplifications, [](const Simplification& simplification) { return simplification.rule == "merge-equal-nodes"; }));
  report.nodes.after = count_operations(arena_, found.graph);
  report.nodes.kept = 0;
  const ir::Uses before(arena_, built_.graph);
  for (const ir::NodeId id : ir::topological_order(arena_, found.graph))
    if (arena_.node(id).kind == ir::NodeKind::operation && !arena_.node(id).is_constant && before.contains(id)) ++report.nodes.kept;
}

}  // namespace xflow::api
