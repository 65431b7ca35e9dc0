#include "src/onnx/lower/lower_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "src/onnx/lift/spelling_table.h"
#include "src/onnx/lower/fused_spelling.h"
#include "src/onnx/lower/lower_match.h"
#include "src/ops/integer_content.h"
#include "src/ops/operator.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

bool is_known(const ops::Spelled::IntegersInput& input) { return ir::constant_shape(input.values).has_value(); }

class Planner {
 public:
  explicit Planner(const LowerTask& task)
      : document_(task.document),
        model_(task.model),
        arena_(task.arena),
        graph_(task.graph),
        fold_(task.fold),
        respell_(task.options.respell),
        fuse_(task.options.fuse),
        folds_(task.options.respell ? nullptr : task.options.folds),
        correspondence_(task.correspondence),
        uses_(task.arena, task.graph) {
    if (!respell_) rebuilt_ = rebuilt_values(document_, model_, arena_, uses_, correspondence_);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) output_numbers_.try_emplace(model_.output_names[i], i);
    index_sizes();
  }

  Result<Plan> run() {
    while (true) {
      XFLOW_CHECK(collect());
      // A value that a fused node was to hide is needed by itself: spell the parts.
      bool again = false;
      for (const ValueId v : absorbed_) again = (plan_.homes.contains(v) && not_absorbed_.insert(v).second) || again;
      if (again) continue;
      XFLOW_CHECK(name_outputs());
      inherit_names();
      if (order_items()) return std::move(plan_);
      // A rewrite made a shape that the document computes depend on a node that reads it for its integers alone.
      if (std::exchange(recompute_shapes_, true))
        return fail(ErrorCode::unsupported, "cannot write the graph: a shape that the model computes depends on its own reader");
    }
  }

 private:
  ValueId current(ValueId v) const {
    const auto found = correspondence_.find(v);
    return found == correspondence_.end() ? v : found->second;
  }

  bool is_original(std::size_t output) const { return model_.values.at(model_.output_names[output]) == graph_.outputs[output]; }

  // Whether the value is written by the definition of the document that made it, where that is possible.
  bool is_respelled(ValueId v) const { return respell_ && arena_.node(v).kind == ir::NodeKind::operation; }

  // Whether the value is written by one node for it and for what other nodes of the document make.
  bool is_fused(ValueId v) const {
    const auto origin = model_.origins.find(v);
    if (!fuse_ || origin == model_.origins.end() || arena_.node(v).kind != ir::NodeKind::operation || arena_.is_constant(v)) return false;
    const auto found = fused(v);
    return found && std::ranges::any_of(found->absorbed, [&](ValueId inner) {
             const auto other = model_.origins.find(inner);
             return other != model_.origins.end() && other->second.node != origin->second.node;
           });
  }

  std::optional<FusedSpelling> fused(ValueId v) const {
    const auto may_absorb = [&](ValueId inner, std::size_t uses) {
      const bool is_shown = !respell_ && !fuse_ && (model_.origins.contains(inner) || rebuilt_.contains(inner));
      return uses_.use_count(inner) == uses && !not_absorbed_.contains(inner) && !is_shown;
    };
    auto found = fused_spelling(arena_, v, model_.opset, may_absorb);
    return found || !fuse_ ? found : gemm_spelling(arena_, v, model_.opset, may_absorb);
  }

  // Whether an output is a captured constant that becomes an initializer.
  bool is_stored(std::size_t output) const { return output >= model_.output_count && is_folded(model_.output_names[output]); }

  // Whether an output is written by the definition that it has in the document.
  bool is_by_definition(std::size_t output) const {
    const ValueId v = graph_.outputs[output];
    return is_original(output) && !is_respelled(v) && !is_fused(v) && !is_stored(output);
  }

  // Values whose shapes may be asked for: inputs first, then what the graph computes and some node of the document shows.
  void index_sizes() {
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

  // What stands before `reader` in the graph cannot depend on it.
  std::size_t limit_of(ValueId reader) const { return uses_.contains(reader.node) ? uses_.position(reader.node) : kNoLimit; }

  // --- What has to be written ---------------------------------------------------------------------------------------------------

  Result<void> collect() {
    plan_ = Plan();
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

  // The node of the document that can give an output its name in the place of an Identity; null if there is none.
  const Node* copy_of_output(std::size_t output) const {
    if (respell_ || is_stored(output) || !needs_copy(output)) return nullptr;
    return copying_node(document_, model_, arena_, correspondence_, model_.output_names[output], graph_.outputs[output]);
  }

  // It is an input, a constant, or another output has its name.
  bool needs_copy(std::size_t output) const {
    const ValueId value = graph_.outputs[output];
    const ir::Node& node = arena_.node(value);
    if (node.kind == ir::NodeKind::input || (node.is_constant && model_.names.contains(value))) return true;
    for (std::size_t other = 0; other < graph_.outputs.size(); ++other)
      if (other != output && graph_.outputs[other] == value && (other < output || is_original(other))) return true;
    return false;
  }

  Result<void> demand(const PlanInput& input) {
    if (input.absent) return {};
    if (input.document_name.empty()) return demand_value(input.value);
    demand_name(input.document_name);
    return {};
  }

  // The definition of this name in the document is needed as it is.
  void demand_name(std::string_view name) {
    const Definition* definition = document_.find(GraphId{0}, name);
    if (definition->initializer) plan_.kept_initializers.insert(*definition->initializer);
    if (definition->node) demand_document_node(*definition->node, false, kNoLimit);
  }

  Result<void> demand_value(ValueId value) {
    if (plan_.homes.contains(value)) return {};
    const ir::Node& node = arena_.node(value);
    const auto named = model_.names.find(value);
    if (is_respelled(value) || is_fused(value)) return demand_spelled(value);
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
      // Where the graph has it on its own operands as well, it is one node: it may be random.
      const ValueId original = model_.values.at(maker.outputs[value.output]);
      if (uses_.contains(original.node)) return demand_value(original);
      demand_document_node(maker.id, true, limit_of(value));
      return {};
    }
    return demand_spelled(value);
  }

  // Writes the node of the document back, on its own operands or on what became of them. False if it is written the other way already.
  bool demand_document_node(NodeId id, bool mapped, std::size_t limit) {
    if (const auto found = plan_.document_items.find(id); found != plan_.document_items.end()) return mapped_.at(id) == mapped;
    PlanItem item;
    item.document_node = id;
    for (const std::string_view name : document_.node(id).inputs) item.inputs.push_back(input_of(name, mapped, limit));
    plan_.document_items.emplace(id, plan_.items.size());
    mapped_.emplace(id, mapped);
    add_item(std::move(item));
    return true;
  }

  ItemId add_item(PlanItem item) {
    plan_.items.push_back(std::move(item));
    work_.push_back(plan_.items.size() - 1);
    return plan_.items.size() - 1;
  }

  PlanInput input_of(std::string_view name, bool mapped, std::size_t limit) {
    if (name.empty()) return {{}, {}, true};
    if (folds_ != nullptr && folds_->identities.contains(name)) name = folds_->identities.at(name);
    const ValueId before = model_.values.at(name);
    const ValueId value = mapped || !uses_.contains(before.node) ? current(before) : before;
    const ir::Node& node = arena_.node(value);
    if (value == before && (node.is_constant || node.kind == ir::NodeKind::input) && !is_folded(name)) return {before, name, false};
    if (!uses_.contains(value.node) && !node.is_constant && !mark(before, value)) compute_integers_of(value, limit);
    return {value, {}, false};
  }

  bool is_folded(std::string_view name) const { return folds_ != nullptr && folds_->constants.contains(name); }

  // Writes a shape that is known in part as a constant.
  bool mark(ValueId before, ValueId value) {
    if (folds_ == nullptr || !folds_->marked.contains(before)) return false;
    if (plan_.homes.try_emplace(value, Home{Home::Kind::folded, {}, 0}).second) plan_.folded.emplace(value, folds_->marked.at(before));
    return true;
  }

  // A value that no operation of the graph reads as an operand is read for its integers alone (a shape). If its own nodes would keep alive
  // something that the rewrites made superfluous, it is recomputed from shapes that are there.
  void compute_integers_of(ValueId value, std::size_t limit) {
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

  // Whether writing the document's nodes for `value` needs a value that is no part of the graph.
  bool drags(ValueId value) const {
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

  Result<void> demand_spelled(ValueId value) {
    if (const auto found = node_items_.find(value.node); found != node_items_.end()) {
      plan_.homes.emplace(value, Home{Home::Kind::item, {}, found->second});
      return {};
    }
    PlanItem item;
    item.kind = PlanItem::Kind::spelled;
    std::vector<ValueId> operands;
    if (auto found = fused(value)) {
      item.type = found->type;
      item.spelled = std::move(found->spelled);
      operands = std::move(found->operands);
      absorbed_.insert(absorbed_.end(), found->absorbed.begin(), found->absorbed.end());
      if (is_fused(value))
        plan_.fused +=
            static_cast<std::size_t>(std::ranges::count_if(found->absorbed, [&](ValueId v) { return model_.origins.contains(v); }));
      item.outputs.push_back(value);
    } else {
      XFLOW_TRY(SpelledNode spelled, spell(arena_, value.node, model_.opset));
      item.type = spelled.type;
      item.spelled = std::move(spelled.spelled);
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

  // Symbolic integers of a new node need values whose shapes show them, unless the document has them.
  Result<void> find_size_sources(PlanItem& item, ValueId value) {
    const std::size_t limit = limit_of(value);
    for (ops::Spelled::Input& input : item.spelled.inputs) {
      auto* integers = std::get_if<ops::Spelled::IntegersInput>(&input);
      if (integers == nullptr || is_known(*integers)) continue;
      if (item.type == "Reshape") infer_one_dimension(*integers);
      if (is_known(*integers)) continue;
      if (const Node* node = node_with_shape(item, value)) {
        item.operands.push_back(input_of(node->inputs[1], true, limit));
        input = ops::Spelled::OperandInput{static_cast<int>(item.operands.size()) - 1};
        for (const Attribute& attribute : node->attributes) {
          XFLOW_TRY(const std::int64_t integer, attribute.integer());
          item.spelled.attributes.emplace_back(attribute.name, integer);
        }
        continue;
      }
      XFLOW_TRY(auto sources, sizes_.sources(arena_.symbols(), integers->values, limit));
      for (const SizeSource& source : sources) item.inputs.push_back({source.value, {}, false});
      item.sources.insert(item.sources.end(), sources.begin(), sources.end());
    }
    return {};
  }

  // A node of the document that makes the same shape of the same shape by the same operator. None where that may depend on `value`.
  const Node* node_with_shape(const PlanItem& item, ValueId value) const {
    if (respell_ || recompute_shapes_ || (item.type != "Reshape" && item.type != "Expand") || !item.spelled.attributes.empty())
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

  // Reshape finds one dimension by itself: -1.
  static void infer_one_dimension(ops::Spelled::IntegersInput& shape) {
    const auto is_unknown = [](const ir::Poly& p) { return !p.is_constant(); };
    if (std::count_if(shape.values.begin(), shape.values.end(), is_unknown) != 1) return;
    if (std::any_of(shape.values.begin(), shape.values.end(), [](const ir::Poly& p) { return p.is_zero(); })) return;
    *std::find_if(shape.values.begin(), shape.values.end(), is_unknown) = ir::Poly(-1);
  }

  // --- Names ----------------------------------------------------------------------------------------------------------------------

  // Every output keeps its name: its own definition has it, or the value that took its place gets it, or an Identity gives it.
  Result<void> name_outputs() {
    identities_.clear();
    std::unordered_set<std::string_view> placed;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const auto home = plan_.homes.find(graph_.outputs[i]);
      const bool by_name = is_by_definition(i) || copies_.contains(model_.output_names[i]);
      const bool same_name =
          home != plan_.homes.end() && home->second.kind == Home::Kind::document && home->second.name == model_.output_names[i];
      if (by_name || same_name) placed.insert(model_.output_names[i]);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string_view name = model_.output_names[i];
      if (!placed.insert(name).second) continue;
      plan_.taken.insert(name);
      if (!document_.find(GraphId{0}, name)->node)
        return fail(ErrorCode::unsupported, "cannot replace " + in_quotes(name) + ": it is no node's output");
      const ValueId value = graph_.outputs[i];
      const Home& home = plan_.homes.at(value);
      const bool has_own_name = home.kind == Home::Kind::item || (home.kind == Home::Kind::folded && i >= model_.output_count);
      if (has_own_name && plan_.given.try_emplace(value, name).second) continue;
      const bool is_made_by_node = home.kind == Home::Kind::document && document_.find(GraphId{0}, home.name)->node.has_value();
      const bool is_shown = placed.contains(home.name) || plan_.renamed.contains(home.name);
      if (is_made_by_node && !is_shown) {
        plan_.renamed.emplace(home.name, name);
        continue;
      }
      PlanItem item;
      item.kind = PlanItem::Kind::identity;
      item.inputs.push_back({value, {}, false});
      item.name = name;
      identities_[name] = plan_.items.size();
      plan_.items.push_back(std::move(item));
    }
    return {};
  }

  // A value that replaced another one inherits its name, if the other is not written: the nodes that read it stay as they are.
  void inherit_names() {
    for (const Node& node : document_.nodes(GraphId{0})) {
      if (plan_.document_items.contains(node.id)) continue;
      for (const std::string_view name : node.outputs) {
        if (name.empty() || plan_.taken.contains(name)) continue;
        const auto home = plan_.homes.find(current(model_.values.at(name)));
        if (home == plan_.homes.end() || home->second.kind == Home::Kind::document) continue;
        if (plan_.given.try_emplace(home->first, name).second) plan_.taken.insert(name);
      }
    }
  }

  // --- Order ----------------------------------------------------------------------------------------------------------------------

  // False if there is a cycle.
  bool order_items() {
    std::vector<ItemId> roots;
    for (const Node& node : document_.nodes(GraphId{0})) {
      if (const auto found = plan_.document_items.find(node.id); found != plan_.document_items.end()) roots.push_back(found->second);
    }
    for (ItemId i = 0; i < plan_.items.size(); ++i)
      if (plan_.items[i].kind != PlanItem::Kind::document) roots.push_back(i);
    enum class Mark : std::uint8_t { none, open, done };
    std::vector<Mark> marks(plan_.items.size(), Mark::none);
    std::vector<std::pair<ItemId, std::size_t>> stack;
    for (const ItemId root : roots) {
      if (marks[root] != Mark::none) continue;
      stack.emplace_back(root, 0);
      marks[root] = Mark::open;
      while (!stack.empty()) {
        auto& [item, next] = stack.back();
        if (next == dependency_count(plan_.items[item])) {
          plan_.order.push_back(item);
          marks[item] = Mark::done;
          stack.pop_back();
          continue;
        }
        const std::optional<ItemId> maker = dependency(plan_.items[item], next++);
        if (!maker || marks[*maker] == Mark::done) continue;
        if (marks[*maker] == Mark::open) return false;
        marks[*maker] = Mark::open;
        stack.emplace_back(*maker, 0);
      }
    }
    return true;
  }

  std::span<const std::string_view> captures_of(const PlanItem& item) const {
    if (item.kind != PlanItem::Kind::document) return {};
    return document_.node(item.document_node).captures;
  }

  std::size_t dependency_count(const PlanItem& item) const { return item.inputs.size() + item.operands.size() + captures_of(item).size(); }

  // The item that makes what `item` reads at place k; nothing for inputs and initializers.
  std::optional<ItemId> dependency(const PlanItem& item, std::size_t k) const {
    if (k < item.inputs.size()) return maker_of(item.inputs[k]);
    k -= item.inputs.size();
    if (k < item.operands.size()) return maker_of(item.operands[k]);
    // A captured value is read under its name.
    const std::string_view name = captures_of(item)[k - item.operands.size()];
    if (const auto identity = identities_.find(name); identity != identities_.end()) return identity->second;
    const std::size_t output = output_numbers_.at(name);
    if (copies_.contains(name) || is_by_definition(output)) return maker_of_name(name);
    return maker_of({graph_.outputs[output], {}, false});
  }

  std::optional<ItemId> maker_of_name(std::string_view name) const {
    const Definition* definition = document_.find(GraphId{0}, name);
    return definition->node ? std::optional(plan_.document_items.at(*definition->node)) : std::nullopt;
  }

  std::optional<ItemId> maker_of(const PlanInput& input) const {
    if (input.absent) return std::nullopt;
    if (!input.document_name.empty()) return maker_of_name(input.document_name);
    const Home& home = plan_.homes.at(input.value);
    switch (home.kind) {
      case Home::Kind::document:
        return maker_of_name(home.name);
      case Home::Kind::item:
        return home.item;
      case Home::Kind::folded:
        return std::nullopt;
    }
    return std::nullopt;
  }

  const Document& document_;
  const LiftedModel& model_;
  ir::Arena& arena_;
  const ir::Graph& graph_;
  const Fold& fold_;
  const bool respell_;
  const bool fuse_;
  const FoldedShapes* const folds_;
  const ir::ValueMap& correspondence_;
  const ir::Uses uses_;
  SizeIndex sizes_;
  std::unordered_map<ValueId, Origin> rebuilt_;
  std::unordered_map<std::string_view, std::size_t> output_numbers_;
  std::unordered_set<ValueId> not_absorbed_;
  bool recompute_shapes_ = false;

  Plan plan_;
  std::unordered_map<ir::NodeId, ItemId> node_items_;  // spelled
  std::unordered_map<NodeId, bool> mapped_;            // nodes of the document: on what became of their operands
  std::unordered_map<std::string_view, ItemId> identities_;
  std::set<std::string_view> copies_;  // outputs that their own nodes copy
  std::vector<ValueId> absorbed_;
  std::vector<ItemId> work_;
};

}  // namespace

Result<Plan> make_plan(const LowerTask& task) { return Planner(task).run(); }

}  // namespace xflow::onnx_io
