#include "src/onnx/lower/lowering_plan.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "src/onnx/lift/mapping_table.h"
#include "src/onnx/lower/lower_planner.h"
#include "src/ops/integer_content.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {

using ir::ValueId;

namespace {

bool is_known(const ops::Exported::IntegersInput& input) { return ir::constant_shape(input.values).has_value(); }

}  // namespace

Planner::Planner(const LowerTask& task)
    : document_(task.document),
      model_(task.model),
      arena_(task.arena),
      graph_(task.graph),
      fold_(task.fold),
      reexport_(task.options.reexport),
      fuse_(task.options.fuse),
      folds_(task.options.reexport ? nullptr : task.options.folds),
      correspondence_(task.correspondence),
      uses_(task.arena, task.graph) {
  if (!reexport_) rebuilt_ = rebuilt_values(document_, model_, arena_, uses_, correspondence_);
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) output_numbers_.try_emplace(model_.output_names[i], i);
  index_sizes();
}

Result<LoweringPlan> Planner::run() {
  while (true) {
    XFLOW_CHECK(collect());
    // A value that a fused node would hide is needed by another node: export the parts separately.
    bool changed = false;
    for (const ValueId v : absorbed_) changed = (plan_.homes.contains(v) && not_absorbed_.insert(v).second) || changed;
    if (changed) continue;
    XFLOW_CHECK(name_outputs());
    inherit_names();
    if (order_items()) return std::move(plan_);
    // A rewrite made a shape that the document computes depend on a node that only reads its integers.
    if (std::exchange(recompute_shapes_, true))
      return fail(ErrorCode::unsupported, "cannot write the graph: a shape that the model computes depends on its own reader");
  }
}

ValueId Planner::current(ValueId v) const {
  const auto found = correspondence_.find(v);
  return found == correspondence_.end() ? v : found->second;
}

bool Planner::is_fused(ValueId v) const {
  const auto origin = model_.origins.find(v);
  if (!fuse_ || origin == model_.origins.end() || arena_.node(v).kind != ir::NodeKind::operation || arena_.is_constant(v)) return false;
  const auto found = fused(v);
  return found && std::ranges::any_of(found->absorbed, [&](ValueId inner) {
           const auto other = model_.origins.find(inner);
           return other != model_.origins.end() && other->second.node != origin->second.node;
         });
}

std::optional<FusedExport> Planner::fused(ValueId v) const {
  const auto may_absorb = [&](ValueId inner, std::size_t uses) {
    const bool is_shown = !reexport_ && !fuse_ && (model_.origins.contains(inner) || rebuilt_.contains(inner));
    return uses_.use_count(inner) == uses && !not_absorbed_.contains(inner) && !is_shown;
  };
  auto found = fused_export(arena_, v, model_.opset, may_absorb);
  return found || !fuse_ ? found : gemm_export(arena_, v, model_.opset, may_absorb);
}

bool Planner::is_by_definition(std::size_t output) const {
  const ValueId v = graph_.outputs[output];
  return is_original(output) && !is_reexported(v) && !is_fused(v) && !is_stored(output);
}

void Planner::index_sizes() {
  for (const ValueId v : model_.inputs) sizes_.add(arena_, v, 0);
  for (std::size_t i = 0; i < uses_.order().size(); ++i) {
    const ir::NodeId id = uses_.order()[i];
    const ir::Node& node = arena_.node(id);
    if (node.kind == ir::NodeKind::input || node.is_constant) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId v{id, k};
      if (model_.names.contains(v) || rebuilt_.contains(v)) sizes_.add(arena_, v, i);
    }
  }
}

Result<void> Planner::collect() {
  plan_ = LoweringPlan();
  node_items_.clear();
  mapped_.clear();
  absorbed_.clear();
  work_.clear();
  copies_.clear();
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (is_by_definition(i)) {
      demand_name(model_.output_names[i]);
    } else if (const Node* copy = copy_of_output(i); copy != nullptr && demand_document_node(copy->id, true, kNoLimit)) {
      copies_.insert(model_.output_names[i]);
    } else {
      XFLOW_CHECK(demand_value(graph_.outputs[i]));
    }
  }
  while (!work_.empty()) {
    const ItemId item = work_.back();
    work_.pop_back();
    for (std::size_t k = 0; k < plan_.items[item].inputs.size(); ++k) XFLOW_CHECK(demand(PlanInput(plan_.items[item].inputs[k])));
    for (std::size_t k = 0; k < plan_.items[item].operands.size(); ++k) XFLOW_CHECK(demand(PlanInput(plan_.items[item].operands[k])));
  }
  return {};
}

const Node* Planner::copy_of_output(std::size_t output) const {
  if (reexport_ || is_stored(output) || !needs_copy(output)) return nullptr;
  return copying_node(document_, model_, arena_, correspondence_, model_.output_names[output], graph_.outputs[output]);
}

bool Planner::needs_copy(std::size_t output) const {
  const ValueId value = graph_.outputs[output];
  const ir::Node& node = arena_.node(value);
  if (node.kind == ir::NodeKind::input || (node.is_constant && model_.names.contains(value))) return true;
  for (std::size_t other = 0; other < graph_.outputs.size(); ++other)
    if (other != output && graph_.outputs[other] == value && (other < output || is_original(other))) return true;
  return false;
}

Result<void> Planner::demand(const PlanInput& input) {
  if (input.absent) return {};
  if (input.document_name.empty()) return demand_value(input.value);
  demand_name(input.document_name);
  return {};
}

void Planner::demand_name(std::string_view name) {
  const Definition* definition = document_.find(GraphId{0}, name);
  if (definition->initializer) plan_.kept_initializers.insert(*definition->initializer);
  if (definition->node) demand_document_node(*definition->node, false, kNoLimit);
}

Result<void> Planner::demand_value(ValueId value) {
  if (plan_.homes.contains(value)) return {};
  const ir::Node& node = arena_.node(value);
  const auto named = model_.names.find(value);
  if (is_reexported(value) || is_fused(value)) return demand_exported(value);
  if (named != model_.names.end() && !is_folded(named->second)) {
    plan_.homes.emplace(value, Home{Home::Kind::document, named->second, 0});
    if (const auto origin = model_.origins.find(value); origin != model_.origins.end() && !node.is_constant) {
      demand_document_node(origin->second.node, current(value) != value && !uses_.contains(value.node), limit_of(value));
    } else {
      demand_name(named->second);
    }
    return {};
  }
  if (node.is_constant) {
    XFLOW_TRY(ir::Constant constant, node.kind == ir::NodeKind::constant ? Result<ir::Constant>(node.constant) : fold_(value));
    plan_.folded.emplace(value, std::move(constant));
    plan_.homes.emplace(value, Home{Home::Kind::folded, {}, 0});
    return {};
  }
  if (const auto found = rebuilt_.find(value); found != rebuilt_.end()) {
    const Node& maker = document_.node(found->second.node);
    if (demand_document_node(maker.id, true, limit_of(value))) {
      plan_.homes.emplace(value, Home{Home::Kind::document, maker.outputs[found->second.output], 0});
      return {};
    }
  }
  if (node.kind == ir::NodeKind::opaque) {
    const Node& maker = document_.node(static_cast<NodeId>(node.serial));
    plan_.homes.emplace(value, Home{Home::Kind::document, maker.outputs[value.output], 0});
    // If the graph also has the node on its own operands, write it once: it may be random.
    const ValueId original = model_.values.at(maker.outputs[value.output]);
    if (uses_.contains(original.node)) return demand_value(original);
    demand_document_node(maker.id, true, limit_of(value));
    return {};
  }
  return demand_exported(value);
}

bool Planner::demand_document_node(NodeId id, bool mapped, std::size_t limit) {
  if (const auto found = plan_.document_items.find(id); found != plan_.document_items.end()) return mapped_.at(id) == mapped;
  PlanItem item;
  item.document_node = id;
  for (const std::string_view name : document_.node(id).inputs) item.inputs.push_back(input_of(name, mapped, limit));
  plan_.document_items.emplace(id, plan_.items.size());
  mapped_.emplace(id, mapped);
  add_item(std::move(item));
  return true;
}

ItemId Planner::add_item(PlanItem item) {
  plan_.items.push_back(std::move(item));
  work_.push_back(plan_.items.size() - 1);
  return plan_.items.size() - 1;
}

PlanInput Planner::input_of(std::string_view name, bool mapped, std::size_t limit) {
  if (name.empty()) return {{}, {}, true};
  if (folds_ != nullptr && folds_->identities.contains(name)) name = folds_->identities.at(name);
  const ValueId before = model_.values.at(name);
  const ValueId value = mapped || !uses_.contains(before.node) ? current(before) : before;
  const ir::Node& node = arena_.node(value);
  if (value == before && (node.is_constant || node.kind == ir::NodeKind::input) && !is_folded(name)) return {before, name, false};
  if (!uses_.contains(value.node) && !node.is_constant && !mark(before, value)) compute_integers_of(value, limit);
  return {value, {}, false};
}

bool Planner::mark(ValueId before, ValueId value) {
  if (folds_ == nullptr || !folds_->marked.contains(before)) return false;
  if (plan_.homes.try_emplace(value, Home{Home::Kind::folded, {}, 0}).second) plan_.folded.emplace(value, folds_->marked.at(before));
  return true;
}

void Planner::compute_integers_of(ValueId value, std::size_t limit) {
  if (plan_.homes.contains(value) || (!recompute_shapes_ && !drags(value))) return;
  const ir::TensorType& type = arena_.type(value);
  if (type.data_type != ir::DataType::int64 || !type.ranked || type.rank() > 1) return;
  const auto content = ops::integer_content(arena_, value);
  if (!content) return;
  auto sources = sizes_.sources(arena_.symbols(), *content, limit);
  if (!sources) return;
  PlanItem item;
  item.kind = PlanItem::Kind::integers;
  item.outputs.push_back(value);
  item.integers = *content;
  item.scalar = type.rank() == 0;
  item.sources = *std::move(sources);
  for (const SizeSource& source : item.sources) item.inputs.push_back({source.value, {}, false});
  plan_.homes.emplace(value, Home{Home::Kind::item, {}, add_item(std::move(item))});
}

bool Planner::drags(ValueId value) const {
  std::vector<ValueId> stack{value};
  std::unordered_set<ValueId> seen{value};
  while (!stack.empty()) {
    const ValueId v = current(stack.back());
    stack.pop_back();
    const ir::Node& node = arena_.node(v);
    if (node.is_constant || node.kind == ir::NodeKind::input || uses_.contains(v.node)) continue;
    if (!ir::is_integer(arena_.type(v).data_type) && arena_.type(v).data_type != ir::DataType::boolean) return true;
    for (const ValueId operand : node.operands)
      if (seen.insert(operand).second) stack.push_back(operand);
  }
  return false;
}

Result<void> Planner::demand_exported(ValueId value) {
  if (const auto found = node_items_.find(value.node); found != node_items_.end()) {
    plan_.homes.emplace(value, Home{Home::Kind::item, {}, found->second});
    return {};
  }
  PlanItem item;
  item.kind = PlanItem::Kind::exported;
  std::vector<ValueId> operands;
  if (auto found = fused(value)) {
    item.type = found->type;
    item.exported = std::move(found->exported);
    operands = std::move(found->operands);
    absorbed_.insert(absorbed_.end(), found->absorbed.begin(), found->absorbed.end());
    if (is_fused(value))
      plan_.fused +=
          static_cast<std::size_t>(std::ranges::count_if(found->absorbed, [&](ValueId v) { return model_.origins.contains(v); }));
    item.outputs.push_back(value);
  } else {
    XFLOW_TRY(ExportedNode exported, export_node(arena_, value.node, model_.opset));
    item.type = exported.type;
    item.exported = std::move(exported.exported);
    operands = arena_.node(value).operands;
    for (std::uint32_t k = 0; k < arena_.node(value).outputs.size(); ++k) item.outputs.push_back({value.node, k});
  }
  for (const ValueId v : operands) item.operands.push_back({v, {}, arena_.is_absent(v)});
  XFLOW_CHECK(find_size_sources(item, value));
  const ItemId id = add_item(std::move(item));
  node_items_.emplace(value.node, id);
  plan_.homes.emplace(value, Home{Home::Kind::item, {}, id});
  return {};
}

Result<void> Planner::find_size_sources(PlanItem& item, ValueId value) {
  const std::size_t limit = limit_of(value);
  for (ops::Exported::Input& input : item.exported.inputs) {
    auto* integers = std::get_if<ops::Exported::IntegersInput>(&input);
    if (integers == nullptr || is_known(*integers)) continue;
    if (item.type == "Reshape") infer_one_dimension(*integers);
    if (is_known(*integers)) continue;
    if (const Node* node = node_with_shape(item, value)) {
      item.operands.push_back(input_of(node->inputs[1], true, limit));
      input = ops::Exported::OperandInput{static_cast<int>(item.operands.size()) - 1};
      for (const Attribute& attribute : node->attributes) {
        XFLOW_TRY(const std::int64_t integer, attribute.integer());
        item.exported.attributes.emplace_back(attribute.name, integer);
      }
      continue;
    }
    XFLOW_TRY(auto sources, sizes_.sources(arena_.symbols(), integers->values, limit));
    for (const SizeSource& source : sources) item.inputs.push_back({source.value, {}, false});
    item.sources.insert(item.sources.end(), sources.begin(), sources.end());
  }
  return {};
}

const Node* Planner::node_with_shape(const PlanItem& item, ValueId value) const {
  if (reexport_ || recompute_shapes_ || (item.type != "Reshape" && item.type != "Expand") || !item.exported.attributes.empty())
    return nullptr;
  const ir::TensorType& from = arena_.type(item.operands[0].value);
  for (const Node& node : document_.nodes(GraphId{0})) {
    if (!node.is(item.type) || node.inputs.size() != 2) continue;
    const ValueId made = model_.values.at(node.outputs[0]);
    if (arena_.node(made).kind == ir::NodeKind::opaque) continue;
    const ir::TensorType& read = arena_.type(model_.values.at(node.inputs[0]));
    if (read.ranked && read.shape == from.shape && arena_.type(made).shape == arena_.type(value).shape) return &node;
  }
  return nullptr;
}

void Planner::infer_one_dimension(ops::Exported::IntegersInput& shape) {
  const auto is_unknown = [](const ir::Poly& p) { return !p.is_constant(); };
  if (std::count_if(shape.values.begin(), shape.values.end(), is_unknown) != 1) return;
  if (std::any_of(shape.values.begin(), shape.values.end(), [](const ir::Poly& p) { return p.is_zero(); })) return;
  *std::find_if(shape.values.begin(), shape.values.end(), is_unknown) = ir::Poly(-1);
}

Result<LoweringPlan> make_plan(const LowerTask& task) { return Planner(task).run(); }

}  // namespace xflow::onnx_io
