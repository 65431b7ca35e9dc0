#include "src/api/clean_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "src/api/graph_moves.h"
#include "src/onnx/folded_constants.h"
#include "src/search/rule_rewriter.h"
#include "src/search/simplify.h"

namespace xflow::api {
namespace {

class CleanUp {
 public:
  explicit CleanUp(const CleanUpTask& task)
      : task_(task), settled_(onnx_io::settled_shapes(task.document, task.model, task.arena, task.exact)) {
    onnx_io::add_folded_constants(task.document, task.model, task.arena, task.fold, {task.max_growth, task.exact}, settled_);
  }

  Result<CleanedUp> run() {
    XFLOW_TRY(Attempt best, attempt({task_.model.graph, {}, {}, {}}));
    if (task_.rules.size() > 0) {
      search::Finalist found = rewritten({});
      if (!found.steps.empty()) improve(std::move(found), best);
    }
    CleanedUp result{std::move(best.lowered), {}, best.nodes, opaque_nodes(task_.document, task_.model)};
    for (const RemovableNode& removable : removable_nodes(task_.document, task_.model, settled_, task_.arena))
      ++result.rules[std::string(removable.rule)];
    for (const search::Step& step : best.found.steps) ++result.rules[step.rule];
    return result;
  }

 private:
  struct Attempt {
    search::Finalist found;
    onnx_io::LoweredModel lowered;
    std::uint64_t nodes = 0;
  };

  search::Finalist rewritten(const std::set<std::string, std::less<>>& without) {
    search::RuleRewriter rewriter(task_.rules, rules::MatchOptions{false, task_.exact});
    search::SimplifyOptions options;
    options.max_growth = 0;
    options.admissible = [&](const ir::Arena& arena, ir::NodeId node) {
      return onnx_io::can_spell(arena, node, task_.model.opset).has_value();
    };
    options.excluded = [&](std::string_view rule, std::span<const ir::ValueId>) { return without.contains(rule); };
    return search::simplify(task_.arena, task_.model.graph, rewriter, options);
  }

  Result<Attempt> attempt(search::Finalist found) {
    onnx_io::LowerOptions options;
    options.settled = &settled_;
    XFLOW_TRY(onnx_io::LoweredModel lowered,
              onnx_io::lower(task_.document, task_.model, task_.arena, found.graph, found.correspondence, task_.fold, options));
    const std::uint64_t nodes = lowered.kept_nodes + lowered.renamed_nodes + lowered.new_nodes;
    return Attempt{std::move(found), std::move(lowered), nodes};
  }

  // An operation of the IR may be a part of a node: without it the other parts are nodes of their own. A rule that leaves more nodes that
  // way than without it is left out.
  void improve(search::Finalist found, Attempt& best) {
    std::set<std::string, std::less<>> used;
    for (const search::Step& step : found.steps) used.insert(step.rule);
    take_better(std::move(found), best);
    std::set<std::string, std::less<>> without;
    for (const std::string& rule : used) {
      without.insert(rule);
      if (!take_better(rewritten(without), best)) without.erase(rule);
    }
  }

  bool take_better(search::Finalist found, Attempt& best) {
    auto next = attempt(std::move(found));
    if (!next || next->nodes >= best.nodes) return false;
    best = *std::move(next);
    return true;
  }

  const CleanUpTask& task_;
  onnx_io::SettledShapes settled_;
};

}  // namespace

std::vector<std::string> opaque_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model) {
  std::map<std::string, std::size_t> reasons;
  for (const onnx_io::OpaqueNode& opaque : model.opaque)
    ++reasons[fmt::format("{}: {}", document.node(opaque.node).op_type, opaque.reason)];
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) lines.push_back(fmt::format("{} x {}", count, reason));
  return lines;
}

Result<CleanedUp> clean_up(const CleanUpTask& task) { return CleanUp(task).run(); }

}  // namespace xflow::api
