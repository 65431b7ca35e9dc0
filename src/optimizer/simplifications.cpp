#include "src/optimizer/simplifications.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace xflow::api {
namespace {

using ir::ValueId;
using onnx_io::Document;
using onnx_io::LiftedModel;

std::vector<ValueId> made_by(const LiftedModel& model, const onnx_io::Node& node) {
  std::vector<ValueId> values;
  for (const std::string_view name : node.outputs)
    if (!name.empty()) values.push_back(model.values.at(name));
  return values;
}

// Names that are needed: outputs, captured values, and inputs of the nodes that produce needed names.
std::unordered_set<std::string_view> used_names(const Document& document, const LiftedModel& model) {
  std::unordered_set<std::string_view> used(model.output_names.begin(), model.output_names.end());
  const auto& order = document.main().order;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const onnx_io::Node& node = document.node(*id);
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](std::string_view name) { return used.contains(name); })) continue;
    used.insert(node.inputs.begin(), node.inputs.end());
    used.insert(node.captures.begin(), node.captures.end());
  }
  return used;
}

// The values that a node reads.
std::vector<ValueId> read_by(const LiftedModel& model, const onnx_io::Node& node) {
  std::vector<ValueId> values;
  for (const std::string_view name : node.inputs)
    if (!name.empty()) values.push_back(model.values.at(name));
  return values;
}

// The values of a node, with new inputs for the values that it reads.
ir::Graph alone(std::vector<ValueId> made, std::span<const ValueId> reads, ir::Arena& arena) {
  ir::ValueMap inputs;
  for (const ValueId value : reads)
    if (!arena.is_constant(value) && !arena.is_absent(value)) inputs.try_emplace(value, arena.input(arena.type(value), 0));
  const ir::Graph whole{std::move(made)};
  const auto part = ir::replace(arena, whole, inputs);
  return part ? *part : whole;
}

}  // namespace

std::vector<RemovableNode> removable_nodes(const Document& document, const LiftedModel& model, const onnx_io::FoldedShapes& folds,
                                           const ir::Arena& arena) {
  const std::unordered_set<std::string_view> used = used_names(document, model);
  const std::unordered_set<onnx_io::NodeId> superfluous(folds.superfluous.begin(), folds.superfluous.end());
  const std::unordered_set<onnx_io::NodeId> folded(folds.folded.begin(), folds.folded.end());
  std::vector<RemovableNode> nodes;
  for (const onnx_io::NodeId id : document.main().order) {
    const onnx_io::Node& node = document.node(id);
    const std::vector<ValueId> values = made_by(model, node);
    if (values.empty()) continue;
    if (arena.is_constant(values[0])) {
      const bool copies = folds.identities.contains(node.outputs[0]);
      if (superfluous.contains(id)) {
        nodes.push_back({copies ? "drop-identity" : "fold-shapes", id});
      } else if (folded.contains(id)) {
        nodes.push_back({"fold-constants", id});
      }
      continue;
    }
    const bool unused = std::none_of(node.outputs.begin(), node.outputs.end(), [&](std::string_view name) { return used.contains(name); });
    const auto origin = model.origins.find(values[0]);
    const bool equal = origin != model.origins.end() && origin->second.node != id &&
                       document.node(origin->second.node).op_type == node.op_type &&
                       document.node(origin->second.node).domain == node.domain;
    if (!unused && !equal && !superfluous.contains(id)) continue;
    nodes.push_back({unused ? "drop-unused" : equal ? "merge-equal-nodes" : "fold-shapes", id});
  }
  return nodes;
}

std::vector<Simplification> find_simplifications(const Document& document, const LiftedModel& model, const onnx_io::FoldedShapes& folds,
                                                 ir::Arena& arena) {
  std::vector<Simplification> simplifications;
  for (const RemovableNode& removable : removable_nodes(document, model, folds, arena)) {
    const onnx_io::Node& node = document.node(removable.node);
    const std::vector<ValueId> values = made_by(model, node);
    ir::Graph part = arena.is_constant(values[0]) ? ir::Graph{values} : alone(values, read_by(model, node), arena);
    simplifications.push_back({std::string(removable.rule), onnx_io::describe(document, removable.node), std::move(part), {}});
  }
  return simplifications;
}

std::vector<Simplification> find_simplifications(const Graph& graph, const BuiltGraph& built, ir::Arena& arena) {
  // Finds the needed values, from the outputs back.
  std::unordered_set<Value> used;
  for (const GraphOutput& output : graph.outputs()) used.insert(output.value);
  std::vector<bool> needed(graph.nodes().size());
  for (std::size_t k = graph.nodes().size(); k-- > 0;) {
    const GraphNode& node = graph.nodes()[k];
    needed[k] = std::ranges::any_of(node.results, [&](Value result) { return used.contains(result); });
    if (needed[k]) used.insert(node.operands.begin(), node.operands.end());
  }
  std::unordered_set<ir::NodeId> computed;
  std::vector<Simplification> simplifications;
  for (std::size_t k = 0; k < built.nodes.size(); ++k) {
    const ir::NodeId id = built.nodes[k];
    // Copied because new inputs may move the arena's nodes.
    const std::vector<ValueId> operands = arena.node(id).operands;
    const std::size_t outputs = arena.node(id).outputs.size();
    if (arena.node(id).kind != ir::NodeKind::operation || arena.node(id).is_constant) continue;
    if (needed[k] && computed.insert(id).second) continue;
    std::vector<ValueId> made;
    made.reserve(outputs);
    for (std::uint32_t output = 0; output < outputs; ++output) made.push_back({id, output});
    simplifications.push_back({needed[k] ? "merge-equal-nodes" : "drop-unused",
                               fmt::format("node {} ({})", k, graph.nodes()[k].op),
                               alone(std::move(made), operands, arena),
                               {}});
  }
  return simplifications;
}

bool gain_time(std::span<const Simplification> simplifications) {
  return std::ranges::any_of(simplifications, [](const Simplification& simplification) { return simplification.gain.count() > 0; });
}

void list_simplifications(std::span<const Simplification> simplifications, OptimizeReport& report) {
  std::vector<RewriteStep> steps;
  std::map<std::string, RuleCount> counts;
  for (const Simplification& simplification : simplifications) {
    steps.push_back({simplification.rule, simplification.where, simplification.gain});
    RuleCount& count = counts[simplification.rule];
    ++count.matched;
    ++count.applied;
    if (simplification.gain.count() > 0) ++count.improved;
    report.predicted.before += simplification.gain;
  }
  report.search.steps.insert(report.search.steps.begin(), steps.begin(), steps.end());
  for (auto& [rule, count] : counts) {
    count.rule = rule;
    report.search.rules.push_back(count);
  }
}

std::string no_gain_of_simplifications(std::span<const Simplification> simplifications) {
  const auto count = [&](std::string_view rule) { return std::ranges::count(simplifications, rule, &Simplification::rule); };
  return fmt::format(
      "only equal nodes ({}), unused nodes ({}), copies of constants ({}) and computations of known shapes ({}) can be removed; the timed "
      "original has none of them either, so no gain can be measured; option 'runner' measures it, option 'gate' = false writes the result "
      "unmeasured",
      count("merge-equal-nodes"), count("drop-unused"), count("drop-identity"), count("fold-shapes"));
}

}  // namespace xflow::api
