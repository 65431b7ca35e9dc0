#include "src/optimizer/clean_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/eval/evaluate.h"
#include "src/onnx/document/body_document.h"
#include "src/onnx/lower/folded_constants.h"
#include "src/optimizer/inner_graphs.h"
#include "src/optimizer/simplifications.h"
#include "src/search/rule_rewriter.h"
#include "src/search/simplify.h"

namespace xflow::api {
namespace {

using onnx_io::Document;
using onnx_io::GraphId;
using onnx_io::LiftedModel;

// Rules are not tried one by one in a graph with more nodes.
constexpr std::size_t kManyNodes = 2000;

// A lifted graph. `around` is the document that contains it as the body or function `body`, or null for a
// main graph.
struct Task {
  const Document& document;
  const LiftedModel& model;
  ir::Arena& arena;
  const CleanUpOptions& options;
  const Document* around = nullptr;
  GraphId body{};
};

bool is_stopped(const CleanUpOptions& options) { return options.evaluation.stop && options.evaluation.stop(); }

class GraphCleanUp {
 public:
  explicit GraphCleanUp(const Task& task)
      : task_(task), folds_(onnx_io::fold_shapes(task.document, task.model, task.arena, task.options.exact)) {
    fold_ = [this](ir::ValueId value) -> Result<ir::Constant> {
      const auto known = folded_.find(value);
      return known != folded_.end() ? known->second
                                    : folded_.emplace(value, eval::fold(task_.arena, value, task_.options.evaluation)).first->second;
    };
    onnx_io::add_folded_constants(
        task.document, task.model, task.arena, fold_,
        {task.options.max_growth, task.options.max_growth_bytes, task.options.exact, task.options.evaluation.stop}, folds_);
  }

  // Adds the edit of the graph and its counts to `result`, if the clean-ups changed the graph. A graph whose
  // result cannot be written stays unchanged.
  void run(CleanedUp& result) {
    const std::vector<RemovableNode> removable = removable_nodes(task_.document, task_.model, folds_, task_.arena);
    auto best = best_attempt(task_.document.nodes(GraphId{0}).size() - removable.size());
    if (!best || best->lowered.edits.empty()) return;
    Result<onnx_io::GraphEdit> edit = task_.around == nullptr
                                          ? std::move(best->lowered.edits[0])
                                          : onnx_io::edit_of_body(*task_.around, task_.body, std::move(best->lowered.edits[0]));
    if (!edit) return;
    result.edits.push_back(*std::move(edit));
    std::ranges::move(best->lowered.constants, std::back_inserter(result.constants));
    for (const RemovableNode& node : removable) ++result.rules[std::string(node.rule)];
    for (const search::Step& step : best->found.steps) ++result.rules[step.rule];
    if (best->lowered.fused_nodes > 0) result.rules["fuse-nodes"] += best->lowered.fused_nodes;
  }

 private:
  struct Attempt {
    search::Finalist found;
    onnx_io::LoweredModel lowered;
    std::uint64_t nodes = 0;
  };

  // `unwritten`: the number of nodes that the built-in simplifications leave.
  Result<Attempt> best_attempt(std::size_t unwritten) {
    search::Finalist found = task_.options.rules.size() == 0 ? search::Finalist{task_.model.graph, {}, {}, {}} : rewritten({});
    if (!found.steps.empty() && task_.document.nodes(GraphId{0}).size() > kManyNodes) {
      auto whole = attempt(std::move(found));
      if (whole && whole->nodes < unwritten) return whole;
      return attempt({task_.model.graph, {}, {}, {}});
    }
    XFLOW_TRY(Attempt best, attempt({task_.model.graph, {}, {}, {}}));
    if (!found.steps.empty()) improve(std::move(found), best);
    return best;
  }

  search::Finalist rewritten(const std::set<std::string, std::less<>>& without) {
    search::RuleRewriter rewriter(task_.options.rules, rules::MatchOptions{false, task_.options.exact});
    search::SimplifyOptions options;
    options.max_growth = 0;
    options.keep_composites = true;
    options.admissible = [&](const ir::Arena& arena, ir::NodeId node) {
      return onnx_io::can_export(arena, node, task_.model.opset).has_value();
    };
    options.excluded = [&](std::string_view rule, std::span<const ir::ValueId>) { return without.contains(rule); };
    options.stop = task_.options.evaluation.stop;
    return search::simplify(task_.arena, task_.model.graph, rewriter, options);
  }

  Result<Attempt> attempt(search::Finalist found) {
    onnx_io::LowerOptions options;
    options.folds = &folds_;
    options.fuse = !task_.options.exact;
    options.around = task_.around;
    if (task_.around != nullptr) options.name_prefix = fmt::format("xflow_g{}_", onnx_io::index(task_.body));
    XFLOW_TRY(onnx_io::LoweredModel lowered,
              onnx_io::lower(task_.document, task_.model, task_.arena, found.graph, found.correspondence, fold_, options));
    const std::uint64_t nodes = lowered.kept_nodes + lowered.renamed_nodes + lowered.new_nodes;
    return Attempt{std::move(found), std::move(lowered), nodes};
  }

  // Drops rules that leave no fewer nodes. An IR operation may be part of a document node; removing it can
  // turn the other parts into nodes of their own.
  void improve(search::Finalist found, Attempt& best) {
    std::set<std::string, std::less<>> used;
    for (const search::Step& step : found.steps) used.insert(step.rule);
    take_better(std::move(found), best);
    std::set<std::string, std::less<>> without;
    for (const std::string& rule : used) {
      if (is_stopped(task_.options)) return;
      without.insert(rule);
      if (!take_better(rewritten(without), best)) without.erase(rule);
    }
  }

  // Takes it if it leaves fewer nodes, or as many by fewer rewrites.
  bool take_better(search::Finalist found, Attempt& best) {
    auto next = attempt(std::move(found));
    if (!next || next->nodes > best.nodes) return false;
    if (next->nodes == best.nodes && next->found.steps.size() >= best.found.steps.size()) return false;
    best = *std::move(next);
    return true;
  }

  const Task& task_;
  std::map<ir::ValueId, Result<ir::Constant>> folded_;
  onnx_io::Fold fold_;
  onnx_io::FoldedShapes folds_;
};

}  // namespace

std::vector<std::string> opaque_nodes(const Document& document, const LiftedModel& model) {
  std::map<std::string, std::size_t> reasons;
  for (const onnx_io::OpaqueNode& opaque : model.opaque)
    ++reasons[fmt::format("{}: {}", document.node(opaque.node).op_type, opaque.reason)];
  std::vector<std::string> lines;
  lines.reserve(reasons.size());
  for (const auto& [reason, count] : reasons) lines.push_back(fmt::format("{} x {}", count, reason));
  return lines;
}

Result<CleanedUp> clean_up(const Document& document, const CleanUpOptions& options) {
  CleanedUp result;
  InnerValues values(document);
  for (const GraphId id : inner_graphs(document)) {
    const bool is_main = id == GraphId{0};
    std::optional<Document> body;
    if (!is_main) {
      auto parsed = onnx_io::body_document(document, id, values.around(id));
      if (!parsed) continue;
      body = *std::move(parsed);
    }
    const Document& graph = is_main ? document : *body;
    ir::Arena arena;
    auto model = onnx_io::lift(graph, arena, {.infer = is_main, .stop = options.evaluation.stop});
    if (is_stopped(options)) return fail(ErrorCode::limit, "the clean-ups were stopped");
    if (!model && is_main) return fail(model.error());
    if (!model) continue;
    if (is_main) result.opaque = opaque_nodes(document, *model);
    values.add(id, *model, arena);
    const Task task{graph, *model, arena, options, is_main ? nullptr : &document, id};
    GraphCleanUp(task).run(result);
    if (is_stopped(options)) return fail(ErrorCode::limit, "the clean-ups were stopped");
  }
  return result;
}

}  // namespace xflow::api
