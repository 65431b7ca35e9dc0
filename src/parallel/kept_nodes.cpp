#include "src/parallel/kept_nodes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/onnx/lift/lift_operator.h"
#include "src/parallel/model_parts.h"
#include "src/parallel/part_program.h"

namespace xflow::parallel {
namespace {

using ir::NodeId;
using ir::ValueId;
using onnx_io::Document;
using onnx_io::LiftedModel;

constexpr std::int64_t kFirstWithDefaults = 4;  // IR version; before it, an input with a value is a constant

// Whether all that an operation reads, has and makes is known before a run.
bool is_known(const ir::Arena& arena, NodeId id, const ir::Symbols::Valuation& sizes) {
  const ir::Node& node = arena.node(id);
  if (node.kind != ir::NodeKind::operation || !known_attributes(arena.symbols(), node.attributes, sizes)) return false;
  // Strings, for example, are an opaque leaf, which the document alone has.
  const auto is_sized = [&](ValueId value) {
    const ir::Node& maker = arena.node(value);
    return cost::tensor_of(arena, value, sizes) && !(maker.kind == ir::NodeKind::opaque && maker.serial == onnx_io::kLeafSerial);
  };
  for (const ValueId operand : node.operands)
    if (!arena.is_absent(operand) && !is_sized(operand)) return false;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
    if (!is_sized({id, k})) return false;
  return true;
}

ir::TensorType known_type(const ir::Arena& arena, ValueId value, const ir::Symbols::Valuation& sizes) {
  ir::TensorType type = arena.type(value);
  for (ir::Poly& dim : type.shape)
    if (const auto known = arena.symbols().evaluate(dim, sizes)) dim = *known;
  return type;
}

// Finds the nodes of one operator.
class NodeCollector {
 public:
  NodeCollector(const Document& document, const LiftedModel& lifted, const SplitModel& model, const ir::Symbols::Valuation& sizes)
      : document_(document), lifted_(lifted), model_(model), arena_(model.arena()), sizes_(sizes) {
    for (const SplitOperator& op : model.operators())
      for (const std::uint32_t value : op.outputs) made_.insert(model.values()[value].id);
  }

  KeptNodes collect(onnx_io::NodeId id, const SplitOperator& op) {
    kept_ = {};
    known_.clear();
    own_.clear();
    add(id);
    for (const std::uint32_t output : op.outputs) {
      const ValueId value = model_.values()[output].id;
      const auto origin = lifted_.origins.find(value);
      if (origin == lifted_.origins.end()) {
        kept_.results.push_back({{}, value, {}});
        continue;
      }
      // The name of the operator's own node, or of a node that makes the same.
      std::string_view name = document_.node(origin->second.node).outputs[origin->second.output];
      for (const std::string_view own : document_.node(id).outputs)
        if (!own.empty() && lifted_.values.at(own) == value) name = own;
      if (!known_.contains(name)) add(origin->second.node);
      kept_.results.push_back(named(name, value));
    }
    kept_.is_random = std::ranges::any_of(kept_.nodes, [&](onnx_io::NodeId own) { return is_random(document_, document_.node(own)); });
    return std::move(kept_);
  }

 private:
  KeptValue named(std::string_view name, ValueId value) const { return {std::string(name), value, known_type(arena_, value, sizes_)}; }

  // Adds a node after those that make what it reads and no operator has.
  void add(onnx_io::NodeId id) {
    if (!own_.insert(id).second) return;
    const onnx_io::Node& node = document_.node(id);
    for (const std::string_view name : node.outputs) known_.insert(name);
    for (const auto* names : {&node.inputs, &node.captures})
      for (const std::string_view name : *names)
        if (!name.empty()) read(name);
    kept_.nodes.push_back(id);
  }

  void read(std::string_view name) {
    if (!known_.insert(name).second) return;
    const onnx_io::Definition& definition = *document_.find(document_.main().id, name);
    const bool has_value = definition.initializer || definition.sparse_initializer;
    if (has_value && (!definition.input || document_.model().ir_version < kFirstWithDefaults)) {
      kept_.initializers.push_back(name);
      return;
    }
    const ValueId value = lifted_.values.at(name);
    if (definition.node && !arena_.is_constant(value) && !made_.contains(value) && arena_.node(value).kind != ir::NodeKind::input)
      add(*definition.node);
    else
      kept_.reads.push_back(named(name, value));
  }

  const Document& document_;
  const LiftedModel& lifted_;
  const SplitModel& model_;
  const ir::Arena& arena_;
  const ir::Symbols::Valuation& sizes_;
  std::unordered_set<ValueId> made_;  // by operators, and sent to others
  std::unordered_set<std::string_view> known_;
  std::set<onnx_io::NodeId> own_;
  KeptNodes kept_;
};

}  // namespace

std::vector<bool> tasks_to_keep(const LiftedModel& lifted, const ir::Arena& arena, const ModelTasks& tasks,
                                const ir::Symbols::Valuation& sizes) {
  std::vector<bool> keep(tasks.nodes.size(), false);
  const auto task_of = [&](NodeId id) {
    const auto found = tasks.task_of.find(id);
    return found == tasks.task_of.end() ? std::nullopt : std::optional(found->second);
  };
  for (const NodeId id : tasks.order)
    if (const auto task = task_of(id); task && !is_known(arena, id, sizes)) keep[*task] = true;
  // Readers of what a kept node makes without a name make it themselves.
  for (bool is_changed = true; std::exchange(is_changed, false);) {
    for (const NodeId id : tasks.order) {
      const auto task = task_of(id);
      if (!task || keep[*task]) continue;
      for (const ValueId operand : arena.node(id).operands) {
        const auto maker = task_of(operand.node);
        if (maker && maker != task && keep[*maker] && !lifted.origins.contains(operand)) is_changed = keep[*task] = true;
      }
    }
  }
  return keep;
}

KeptOperators kept_operators(const Document& document, const LiftedModel& lifted, const SplitModel& model, const ModelTasks& tasks,
                             const ir::Symbols::Valuation& sizes) {
  KeptOperators kept;
  NodeCollector collector(document, lifted, model, sizes);
  const std::vector<bool> keep = tasks_to_keep(lifted, model.arena(), tasks, sizes);
  for (std::uint32_t number = 0; number < keep.size(); ++number) {
    if (keep[number]) kept.emplace(number, collector.collect(tasks.nodes[number], model.operators()[number]));
  }
  return kept;
}

}  // namespace xflow::parallel
