#include "src/onnx/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "src/onnx/document_builder.h"
#include "src/onnx/fused_spelling.h"
#include "src/onnx/lower_names.h"
#include "src/onnx/lower_shapes.h"
#include "src/onnx/spelling_table.h"
#include "src/ops/integer_content.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

// What a node to be written reads: a value of the IR under whatever name it gets, or a name of the document that stays as it is.
struct Input {
  ValueId value;
  std::string_view document_name;  // not empty: read this name
  bool absent = false;
};

// A node (or a short run of nodes) to be written.
struct Item {
  enum class Kind : std::uint8_t { document, spelled, identity, integers };
  Kind kind = Kind::document;
  NodeId document_node{};          // document
  std::vector<Input> inputs;       // in the order of the ONNX node
  std::vector<ValueId> outputs;    // spelled, identity (one): the values that it makes
  std::string_view type;           // spelled
  ops::Spelled spelled;            // spelled; OperandInput counts `operands`
  std::vector<Input> operands;     // spelled
  std::string forced_output;       // identity: the output's name
  std::vector<ir::Poly> integers;  // integers: elements
  bool scalar = false;
  std::vector<std::pair<ir::SymbolId, SizeSource>> sources;
  std::string made_name;  // integers: the name of the result, given when it is written
};

using ItemId = std::size_t;

class Lowerer {
 public:
  Lowerer(const Document& document, const LiftedModel& model, ir::Arena& arena, const ir::Graph& graph, const ir::ValueMap& correspondence,
          const Fold& fold)
      : document_(document),
        model_(model),
        arena_(arena),
        graph_(graph),
        correspondence_(correspondence),
        fold_(fold),
        uses_(arena, graph),
        fresh_(document) {}

  Result<LoweredModel> run() {
    find_rebuilt();
    while (true) {
      XFLOW_CHECK(collect());
      // A value that a fused node was to hide is needed by itself: spell the parts.
      bool again = false;
      for (const ValueId v : absorbed_) again = (demanded_.contains(v) && not_absorbed_.insert(v).second) || again;
      if (!again) break;
    }
    assign_names();
    return write();
  }

 private:
  ValueId current(ValueId v) const {
    const auto found = correspondence_.find(v);
    return found == correspondence_.end() ? v : found->second;
  }

  // Nodes of the document whose value was rebuilt: the same operations on what became of their operands.
  void find_rebuilt() {
    for (const Node& node : document_.nodes(GraphId{0})) {
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].empty()) continue;
        const ValueId before = model_.values.at(node.outputs[k]);
        const ValueId after = current(before);
        const auto origin = model_.origins.find(before);
        if (after == before || origin == model_.origins.end() || origin->second.node != node.id) continue;
        if (model_.origins.contains(after) || rebuilt_.contains(after)) continue;
        std::unordered_set<ValueId> leaves;
        for (const std::string_view input : node.inputs)
          if (!input.empty()) leaves.insert(model_.values.at(input));
        if (same_operations(before, after, leaves)) rebuilt_.emplace(after, Origin{node.id, k});
      }
    }
  }

  bool same_operations(ValueId before, ValueId after, const std::unordered_set<ValueId>& leaves) const {
    std::vector<std::pair<ValueId, ValueId>> stack{{before, after}};
    std::set<std::pair<ValueId, ValueId>> seen;
    bool top = true;
    while (!stack.empty()) {
      const auto [a, b] = stack.back();
      stack.pop_back();
      const bool leaf = !std::exchange(top, false) && leaves.contains(a);
      if (a == b || (leaf && current(a) == b)) continue;
      if (!seen.insert({a, b}).second) continue;
      const ir::Node& x = arena_.node(a);
      const ir::Node& y = arena_.node(b);
      if (leaf || x.kind != y.kind || a.output != b.output || x.operands.size() != y.operands.size()) return false;
      if (x.kind == ir::NodeKind::opaque) {
        if (x.serial != y.serial) return false;
        continue;
      }
      if (x.kind != ir::NodeKind::operation || x.op != y.op || !(x.attributes == y.attributes)) return false;
      for (std::size_t k = 0; k < x.operands.size(); ++k) stack.emplace_back(x.operands[k], y.operands[k]);
    }
    return true;
  }

  // --- What has to be written ---------------------------------------------------------------------------------------------------

  Result<void> collect() {
    items_.clear();
    document_items_.clear();
    value_items_.clear();
    node_items_.clear();
    kept_initializers_.clear();
    folded_.clear();
    demanded_.clear();
    absorbed_.clear();
    forced_.clear();
    integer_items_.clear();
    work_.clear();
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) XFLOW_CHECK(demand_output(graph_.outputs[i], model_.output_names[i]));
    while (!work_.empty()) {
      const ItemId item = work_.back();
      work_.pop_back();
      for (std::size_t k = 0; k < items_[item].inputs.size(); ++k) XFLOW_CHECK(demand(Input(items_[item].inputs[k])));
      for (std::size_t k = 0; k < items_[item].operands.size(); ++k) XFLOW_CHECK(demand(Input(items_[item].operands[k])));
    }
    return {};
  }

  Result<void> demand_output(ValueId value, std::string_view name) {
    if (model_.values.at(name) == value) return demand_name(name);
    if (const auto found = rebuilt_.find(value); found != rebuilt_.end()) {
      if (document_.node(found->second.node).outputs[found->second.output] == name) return demand({value, {}, false});
    }
    const ir::Node& node = arena_.node(value);
    const bool takes_name = !node.is_constant && node.kind != ir::NodeKind::input && !forced_.contains(value) && !is_output_name_of(value);
    XFLOW_CHECK(demand({value, {}, false}));
    if (takes_name) {
      forced_.emplace(value, std::string(name));
      return {};
    }
    Item item;
    item.kind = Item::Kind::identity;
    item.inputs.push_back({value, {}, false});
    item.forced_output = std::string(name);
    items_.push_back(std::move(item));
    return {};
  }

  // Whether the value keeps a name of its own that the model shows outside.
  bool is_output_name_of(ValueId value) const {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      if (graph_.outputs[i] == value && model_.values.at(model_.output_names[i]) == value) return true;
    return false;
  }

  Result<void> demand(const Input& input) {
    if (input.absent) return {};
    if (!input.document_name.empty()) return demand_name(input.document_name);
    return demand_value(input.value);
  }

  // The definition of this name in the document is needed as it is.
  Result<void> demand_name(std::string_view name) {
    const Definition* definition = document_.find(GraphId{0}, name);
    if (definition == nullptr) return fail(ErrorCode::internal, "no definition of '" + std::string(name) + "'");
    if (definition->initializer) kept_initializers_.insert(*definition->initializer);
    if (definition->node) demand_document_node(*definition->node, false);
    return {};
  }

  Result<void> demand_value(ValueId value) {
    if (!demanded_.insert(value).second) return {};
    const ir::Node& node = arena_.node(value);
    if (node.kind == ir::NodeKind::input) return {};
    const auto named = model_.names.find(value);
    if (node.is_constant) {
      if (named != model_.names.end()) return demand_name(named->second);
      XFLOW_TRY(ir::Constant constant, node.kind == ir::NodeKind::constant ? Result<ir::Constant>(node.constant) : fold_(value));
      folded_.emplace(value, std::move(constant));
      return {};
    }
    if (const auto origin = model_.origins.find(value); origin != model_.origins.end()) {
      demand_document_node(origin->second.node, current(value) != value && !uses_.contains(value.node));
      return {};
    }
    if (named != model_.names.end()) return demand_name(named->second);  // a leaf without arithmetic
    if (const auto found = rebuilt_.find(value); found != rebuilt_.end()) {
      if (demand_document_node(found->second.node, true)) return {};
    }
    if (node.kind == ir::NodeKind::opaque) {
      demand_document_node(static_cast<NodeId>(node.serial), true);
      return {};
    }
    return demand_spelled(value);
  }

  // Writes the node of the document back, on its own operands or on what became of them. False if it is written the other way already.
  bool demand_document_node(NodeId id, bool mapped) {
    if (const auto found = document_items_.find(id); found != document_items_.end()) return found->second.second == mapped;
    const Node& node = document_.node(id);
    Item item;
    item.document_node = id;
    for (const std::string_view name : node.inputs) item.inputs.push_back(input_of(name, mapped));
    document_items_.emplace(id, std::make_pair(items_.size(), mapped));
    items_.push_back(std::move(item));
    work_.push_back(items_.size() - 1);
    return true;
  }

  Input input_of(std::string_view name, bool mapped) {
    if (name.empty()) return {{}, {}, true};
    const ValueId before = model_.values.at(name);
    const ir::Node& node = arena_.node(before);
    if (node.is_constant || node.kind == ir::NodeKind::input) return {before, name, false};
    ValueId value = mapped || !uses_.contains(before.node) ? current(before) : before;
    if (!uses_.contains(value.node)) {
      if (const auto computed = computed_integers(value)) return {*computed, {}, false};
    }
    return {value, {}, false};
  }

  // A value that no surviving operation reads as an operand is read for its integers alone (a shape). If its own nodes would keep alive
  // something that the rewrites made superfluous, it is computed anew from shapes that are there.
  std::optional<ValueId> computed_integers(ValueId value) {
    if (integer_items_.contains(value)) return value;
    if (!drags(value)) return std::nullopt;
    const auto content = ops::integer_content(arena_, value);
    const ir::TensorType& type = arena_.type(value);
    if (!content || type.data_type != ir::DataType::int64 || !type.ranked || type.rank() > 1) return std::nullopt;
    auto sources = size_sources(arena_, *content, survivors());
    if (!sources) return std::nullopt;
    Item item;
    item.kind = Item::Kind::integers;
    item.integers = *content;
    item.scalar = type.rank() == 0;
    item.sources = *std::move(sources);
    for (const auto& [symbol, source] : item.sources) item.inputs.push_back({source.value, {}, false});
    integer_items_.emplace(value, items_.size());
    items_.push_back(std::move(item));
    work_.push_back(items_.size() - 1);
    return value;
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

  // Values whose shapes may be asked for: inputs first, then what the graph computes.
  const std::vector<ValueId>& survivors() {
    if (survivors_.empty()) {
      survivors_ = model_.inputs;
      for (const ir::NodeId id : uses_.order()) {
        const ir::Node& node = arena_.node(id);
        if (node.kind == ir::NodeKind::input || node.is_constant) continue;
        for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
          const ValueId v{id, k};
          // Inner values of nodes of the document are not to be had.
          if (model_.names.contains(v) || rebuilt_.contains(v)) survivors_.push_back(v);
        }
      }
    }
    return survivors_;
  }

  Result<void> demand_spelled(ValueId value) {
    if (node_items_.contains(value.node)) return {};
    const auto may_absorb = [&](ValueId v) {
      return uses_.use_count(v) == 1 && !not_absorbed_.contains(v) && !model_.origins.contains(v) && !rebuilt_.contains(v);
    };
    Item item;
    item.kind = Item::Kind::spelled;
    std::vector<ValueId> operands;
    if (auto fused = fused_spelling(arena_, value, model_.opset, may_absorb)) {
      item.type = fused->type;
      item.spelled = std::move(fused->spelled);
      operands = std::move(fused->operands);
      absorbed_.insert(absorbed_.end(), fused->absorbed.begin(), fused->absorbed.end());
      item.outputs.push_back(value);
    } else {
      auto spelled = spell(arena_, value.node, model_.opset);
      if (!spelled) return fail(std::move(spelled).error());
      item.type = spelled->type;
      item.spelled = std::move(spelled->spelled);
      operands = arena_.node(value).operands;
      for (std::uint32_t k = 0; k < arena_.node(value).outputs.size(); ++k) item.outputs.push_back({value.node, k});
    }
    for (const ValueId v : operands) item.operands.push_back({v, {}, arena_.is_absent(v)});
    XFLOW_CHECK(find_size_sources(item));
    node_items_.emplace(value.node, items_.size());
    items_.push_back(std::move(item));
    work_.push_back(items_.size() - 1);
    return {};
  }

  // Symbolic integers of a new node need values whose shapes show them.
  Result<void> find_size_sources(Item& item) {
    for (const ops::Spelled::Input& input : item.spelled.inputs) {
      const auto* integers = std::get_if<ops::Spelled::IntegersInput>(&input);
      if (integers == nullptr || is_known(*integers) || one_unknown(item, *integers)) continue;
      XFLOW_TRY(auto sources, size_sources(arena_, integers->values, survivors()));
      for (const auto& source : sources) item.inputs.push_back({source.second.value, {}, false});
      item.sources.insert(item.sources.end(), sources.begin(), sources.end());
    }
    return {};
  }

  static bool is_known(const ops::Spelled::IntegersInput& input) { return ir::constant_shape(input.values).has_value(); }

  // Reshape infers one dimension by itself.
  static bool one_unknown(const Item& item, const ops::Spelled::IntegersInput& input) {
    if (item.type != "Reshape") return false;
    std::size_t unknown = 0;
    for (const ir::Poly& p : input.values) {
      if (!p.is_constant()) ++unknown;
      if (p.is_zero()) return false;
    }
    return unknown == 1;
  }

  // --- Names ----------------------------------------------------------------------------------------------------------------------

  void assign_names() {
    for (const auto& [value, name] : forced_) taken_.emplace(name, value);
    for (const Item& item : items_)
      if (item.kind == Item::Kind::identity) taken_.emplace(item.forced_output, ValueId{ir::NodeId{0xFFFFFFFFU}, 0});
    // A value that replaced another one inherits its name, if the other is not written: the nodes that read it stay as they are.
    for (const Node& node : document_.nodes(GraphId{0})) {
      for (const std::string_view name : node.outputs) {
        if (name.empty()) continue;
        const ValueId before = model_.values.at(name);
        const ValueId after = current(before);
        if (after == before || document_items_.contains(node.id) || has_own_name(after) || forced_.contains(after)) continue;
        if (taken_.contains(std::string(name)) || !inherited_.try_emplace(after, name).second) continue;
        taken_.emplace(std::string(name), after);
      }
    }
  }

  bool has_own_name(ValueId v) const {
    return model_.names.contains(v) || rebuilt_written(v) || arena_.node(v).kind == ir::NodeKind::opaque;
  }

  bool rebuilt_written(ValueId v) const {
    const auto found = rebuilt_.find(v);
    return found != rebuilt_.end() && !node_items_.contains(v.node);
  }

  // The name of a definition of the document, another one where a forced name took it.
  std::string document_name(std::string_view name, ValueId value) {
    const auto taken = taken_.find(name);
    if (taken == taken_.end() || taken->second == value) return std::string(name);
    auto& renamed = renamed_[std::string(name)];
    if (renamed.empty()) renamed = fresh_.next("value");
    return renamed;
  }

  std::string name_of(ValueId value) {
    if (const auto found = integer_items_.find(value); found != integer_items_.end()) {
      std::string& made = items_[found->second].made_name;
      if (made.empty()) made = fresh_.next("shape");
      return made;
    }
    if (const auto found = forced_.find(value); found != forced_.end()) return found->second;
    if (const auto found = model_.names.find(value); found != model_.names.end()) return document_name(found->second, value);
    if (const auto found = rebuilt_.find(value); found != rebuilt_.end() && !node_items_.contains(value.node))
      return document_name(document_.node(found->second.node).outputs[found->second.output], value);
    const ir::Node& node = arena_.node(value);
    if (node.kind == ir::NodeKind::opaque)
      return document_name(document_.node(static_cast<NodeId>(node.serial)).outputs[value.output], value);
    if (const auto found = inherited_.find(value); found != inherited_.end()) return std::string(found->second);
    auto& name = fresh_names_[value];
    if (name.empty())
      name = fresh_.next(node.kind == ir::NodeKind::operation && !node.is_constant ? ops::get(node.op).signature.name : "constant");
    return name;
  }

  std::string input_name(const Input& input) {
    if (input.absent) return {};
    return input.document_name.empty() ? name_of(input.value) : document_name(input.document_name, input.value);
  }

  // --- Writing ----------------------------------------------------------------------------------------------------------------------

  Result<LoweredModel> write() {
    std::vector<Entry> nodes;
    for (const ItemId item : ordered_items()) XFLOW_CHECK(write_item(items_[item], nodes));
    std::size_t document_nodes = 0;
    for (const Node& node : document_.nodes(GraphId{0})) document_nodes += document_items_.contains(node.id) ? 0 : 1;
    result_.dropped_nodes = document_nodes;
    for (const Node& node : document_.nodes(GraphId{0})) {
      if (document_items_.contains(node.id) || node.outputs.empty() || node.outputs[0].empty()) continue;
      const auto origin = model_.origins.find(model_.values.at(node.outputs[0]));
      if (origin != model_.origins.end() && origin->second.node != node.id && document_items_.contains(origin->second.node))
        ++result_.merged_nodes;
    }
    GraphEdit edit;
    edit.graph = GraphId{0};
    edit.nodes = std::move(nodes);
    write_initializers(edit);
    write_value_infos(edit);
    if (result_.dropped_nodes + result_.new_nodes + result_.renamed_nodes > 0 || result_.dropped_constant_bytes > 0)
      result_.edits.push_back(std::move(edit));
    return std::move(result_);
  }

  // Dependencies first; nodes of the document in their order where that is possible.
  std::vector<ItemId> ordered_items() {
    std::vector<ItemId> roots;
    for (const Node& node : document_.nodes(GraphId{0})) {
      if (const auto found = document_items_.find(node.id); found != document_items_.end()) roots.push_back(found->second.first);
    }
    for (ItemId i = 0; i < items_.size(); ++i)
      if (items_[i].kind != Item::Kind::document) roots.push_back(i);
    std::vector<ItemId> order;
    std::vector<bool> done(items_.size(), false);
    std::vector<std::pair<ItemId, std::size_t>> stack;
    for (const ItemId root : roots) {
      if (!done[root]) stack.emplace_back(root, 0);
      done[root] = true;
      while (!stack.empty()) {
        auto& [item, next] = stack.back();
        const std::size_t count = items_[item].inputs.size() + items_[item].operands.size() + captures_of(items_[item]).size();
        if (next == count) {
          order.push_back(item);
          stack.pop_back();
          continue;
        }
        const std::optional<ItemId> maker = maker_of(dependency(items_[item], next++));
        if (maker && !done[*maker]) {
          done[*maker] = true;
          stack.emplace_back(*maker, 0);
        }
      }
    }
    return order;
  }

  std::span<const std::string_view> captures_of(const Item& item) const {
    if (item.kind != Item::Kind::document) return {};
    return document_.node(item.document_node).captures;
  }

  Input dependency(const Item& item, std::size_t k) const {
    if (k < item.inputs.size()) return item.inputs[k];
    k -= item.inputs.size();
    if (k < item.operands.size()) return item.operands[k];
    const std::string_view name = captures_of(item)[k - item.operands.size()];
    for (std::size_t i = model_.output_count; i < graph_.outputs.size(); ++i) {
      if (model_.output_names[i] != name) continue;
      // The value under its own name, or the identity that gives it that name.
      if (model_.values.at(name) == graph_.outputs[i]) return {graph_.outputs[i], name, false};
      return {graph_.outputs[i], {}, false};
    }
    return {{}, name, false};
  }

  std::optional<ItemId> maker_of(const Input& input) const {
    if (input.absent) return std::nullopt;
    const auto document_item = [&](NodeId id) -> std::optional<ItemId> {
      const auto found = document_items_.find(id);
      return found == document_items_.end() ? std::nullopt : std::optional(found->second.first);
    };
    if (!input.document_name.empty()) {
      const Definition* definition = document_.find(GraphId{0}, input.document_name);
      return definition != nullptr && definition->node ? document_item(*definition->node) : std::nullopt;
    }
    const ValueId v = input.value;
    if (const auto found = integer_items_.find(v); found != integer_items_.end()) return found->second;
    if (const auto found = node_items_.find(v.node); found != node_items_.end()) return found->second;
    if (const auto found = model_.names.find(v); found != model_.names.end()) return maker_of({v, found->second, false});
    if (const auto found = rebuilt_.find(v); found != rebuilt_.end()) return document_item(found->second.node);
    if (arena_.node(v).kind == ir::NodeKind::opaque) return document_item(static_cast<NodeId>(arena_.node(v).serial));
    return std::nullopt;
  }

  Result<void> write_item(Item& item, std::vector<Entry>& nodes) {
    switch (item.kind) {
      case Item::Kind::document:
        write_document_item(item, nodes);
        return {};
      case Item::Kind::identity: {
        const std::string input = input_name(item.inputs[0]);
        nodes.push_back(
            Entry::add(NodeBuilder("Identity").name(fresh_.next("Identity")).input(input).output(item.forced_output).message()));
        ++result_.new_nodes;
        return {};
      }
      case Item::Kind::integers: {
        if (item.made_name.empty()) item.made_name = fresh_.next("shape");
        return write_integers(item.integers, item.scalar, item.sources, item.made_name, nodes);
      }
      case Item::Kind::spelled:
        return write_spelled(item, nodes);
    }
    return {};
  }

  void write_document_item(const Item& item, std::vector<Entry>& nodes) {
    const Node& node = document_.node(item.document_node);
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    for (const Input& input : item.inputs) inputs.push_back(input_name(input));
    const bool mapped = document_items_.at(node.id).second;
    for (const std::string_view name : node.outputs) {
      if (name.empty()) {
        outputs.emplace_back();
        continue;
      }
      const ValueId before = model_.values.at(name);
      const auto canonical = model_.names.find(before);
      // Of equal nodes each keeps the name that it has; the others read the first.
      const bool own = canonical != model_.names.end() && canonical->second == name;
      const ValueId value = mapped ? current(before) : before;
      const auto forced = forced_.find(value);
      outputs.push_back(forced != forced_.end() && own ? forced->second : document_name(name, value));
    }
    const bool unchanged = std::equal(inputs.begin(), inputs.end(), node.inputs.begin(), node.inputs.end()) &&
                           std::equal(outputs.begin(), outputs.end(), node.outputs.begin(), node.outputs.end());
    const auto position = static_cast<std::uint32_t>(index(node.id)) - document_.main().first_node;
    if (unchanged) {
      nodes.push_back(Entry::keep(position));
      ++result_.kept_nodes;
    } else {
      nodes.push_back(Entry::add(renamed_node(node, inputs, outputs)));
      ++result_.renamed_nodes;
    }
  }

  Result<void> write_spelled(const Item& item, std::vector<Entry>& nodes) {
    NodeBuilder node(item.type);
    std::vector<std::string> outputs;
    for (const ValueId v : item.outputs) outputs.push_back(name_of(v));
    node.name(fresh_.next(item.type));
    std::vector<std::string> inputs;
    for (const ops::Spelled::Input& input : item.spelled.inputs) {
      std::string name;
      if (const auto* operand = std::get_if<ops::Spelled::OperandInput>(&input)) {
        name = input_name(item.operands[static_cast<std::size_t>(operand->operand)]);
      } else if (const auto* constant = std::get_if<ops::Spelled::ConstantInput>(&input)) {
        name = new_initializer(constant->constant, "constant");
      } else if (const auto* integers = std::get_if<ops::Spelled::IntegersInput>(&input)) {
        if (is_known(*integers)) {
          name = integer_initializer(*ir::constant_shape(integers->values), integers->scalar);
        } else if (one_unknown(item, *integers)) {
          std::vector<std::int64_t> values;
          for (const ir::Poly& p : integers->values) values.push_back(p.constant().value_or(-1));
          name = integer_initializer(values, false);
        } else {
          name = fresh_.next("shape");
          XFLOW_CHECK(write_integers(integers->values, integers->scalar, item.sources, name, nodes));
        }
      }
      inputs.push_back(std::move(name));
    }
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    for (const std::string& name : inputs) node.input(name);
    for (const std::string& name : outputs) node.output(name);
    for (const auto& [name, value] : item.spelled.attributes) add_attribute(node, name, value);
    nodes.push_back(Entry::add(node.message()));
    ++result_.new_nodes;
    return {};
  }

  static void add_attribute(NodeBuilder& node, const std::string& name, const ops::Spelled::AttributeValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) node.integer(name, *integer);
    if (const auto* real = std::get_if<float>(&value)) node.real(name, *real);
    if (const auto* word = std::get_if<std::string>(&value)) node.string(name, *word);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) node.integers(name, *list);
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) node.reals(name, *reals);
    if (const auto* constant = std::get_if<ir::Constant>(&value)) {
      const auto bytes = constant->source->bytes();
      if (bytes) node.tensor(name, tensor_message("", constant->data_type, constant->dims, text_of(*bytes)));
    }
  }

  Result<void> write_integers(const std::vector<ir::Poly>& polys, bool scalar,
                              const std::vector<std::pair<ir::SymbolId, SizeSource>>& sources, const std::string& output,
                              std::vector<Entry>& nodes) {
    ShapeNames names;
    names.name_of = [&](ValueId v) { return name_of(v); };
    names.integers = [&](const std::vector<std::int64_t>& values, bool is_scalar) { return integer_initializer(values, is_scalar); };
    names.fresh = [&](std::string_view hint) { return fresh_.next(hint); };
    XFLOW_TRY(const auto messages, compute_integers(arena_.symbols(), polys, scalar, sources, model_.opset, names, output));
    for (const std::string& message : messages) nodes.push_back(Entry::add(message));
    result_.new_nodes += messages.size();
    return {};
  }

  static std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  std::string integer_initializer(const std::vector<std::int64_t>& values, bool scalar) {
    std::vector<std::int64_t> dims;
    if (!scalar) dims.push_back(static_cast<std::int64_t>(values.size()));
    auto& name = integer_names_[{values, scalar}];
    if (name.empty()) name = new_initializer(ir::make_integer_constant(ir::DataType::int64, dims, values), "integers");
    return name;
  }

  std::string new_initializer(const ir::Constant& constant, std::string_view hint) {
    std::string name = fresh_.next(hint);
    new_initializers_.emplace_back(name, constant);
    return name;
  }

  void write_initializers(GraphEdit& edit) {
    std::vector<Entry> entries;
    const Graph& main = document_.main();
    for (std::uint32_t i = 0; i < main.initializers.size(); ++i) {
      const Definition* definition = document_.find(GraphId{0}, main.initializers[i].tensor.name);
      const bool is_default = definition != nullptr && definition->input.has_value();
      if (is_default || kept_initializers_.contains(i)) {
        entries.push_back(Entry::keep(i));
      } else {
        result_.dropped_constant_bytes += main.initializers[i].field.size();
      }
    }
    for (const auto& [value, constant] : folded_) new_initializers_.emplace_back(name_of(value), constant);
    for (auto& [name, constant] : new_initializers_) {
      const auto bytes = constant.source->bytes();
      if (!bytes) continue;
      const std::string_view raw = text_of(*bytes);
      entries.push_back(Entry::add(tensor_header(name, constant.data_type, constant.dims, raw.size()), raw));
      result_.new_constant_bytes += raw.size();
      result_.constants.push_back(constant);
    }
    edit.initializers = std::move(entries);
  }

  // The declared type of every value that still exists under its name.
  void write_value_infos(GraphEdit& edit) {
    std::unordered_set<std::string> exist;
    for (const Item& item : items_) {
      for (const ValueId v : item.outputs) exist.insert(name_of(v));
      if (item.kind == Item::Kind::identity) exist.insert(item.forced_output);
      if (item.kind != Item::Kind::document) continue;
      for (const std::string_view name : document_.node(item.document_node).outputs)
        if (!renamed_.contains(std::string(name))) exist.emplace(name);
    }
    for (const std::uint32_t i : kept_initializers_) exist.emplace(document_.main().initializers[i].tensor.name);
    for (const ValueInfo& input : document_.main().inputs) exist.emplace(input.name);
    std::vector<Entry> entries;
    for (std::uint32_t i = 0; i < document_.main().value_infos.size(); ++i) {
      if (exist.contains(std::string(document_.main().value_infos[i].name))) entries.push_back(Entry::keep(i));
    }
    edit.value_infos = std::move(entries);
  }

  const Document& document_;
  const LiftedModel& model_;
  ir::Arena& arena_;
  const ir::Graph& graph_;
  const ir::ValueMap& correspondence_;
  const Fold& fold_;
  const ir::Uses uses_;
  FreshNames fresh_;

  std::unordered_map<ValueId, Origin> rebuilt_;
  std::unordered_set<ValueId> not_absorbed_;
  std::vector<ValueId> survivors_;

  std::vector<Item> items_;
  std::vector<ItemId> work_;
  std::unordered_map<NodeId, std::pair<ItemId, bool>> document_items_;  // and whether on what became of its operands
  std::unordered_map<ValueId, ItemId> value_items_;
  std::unordered_map<ir::NodeId, ItemId> node_items_;
  std::unordered_map<ValueId, ItemId> integer_items_;
  std::set<std::uint32_t> kept_initializers_;
  std::map<ValueId, ir::Constant> folded_;
  std::unordered_set<ValueId> demanded_;
  std::vector<ValueId> absorbed_;
  std::map<ValueId, std::string> forced_;

  std::map<std::string, ValueId, std::less<>> taken_;
  std::unordered_map<ValueId, std::string_view> inherited_;
  std::map<std::string, std::string> renamed_;
  std::map<ValueId, std::string> fresh_names_;
  std::map<std::pair<std::vector<std::int64_t>, bool>, std::string> integer_names_;
  std::vector<std::pair<std::string, ir::Constant>> new_initializers_;
  LoweredModel result_;
};

}  // namespace

Result<LoweredModel> lower(const Document& document, const LiftedModel& model, ir::Arena& arena, const ir::Graph& graph,
                           const ir::ValueMap& correspondence, const Fold& fold) {
  return Lowerer(document, model, arena, graph, correspondence, fold).run();
}

Result<void> can_spell(const ir::Arena& arena, ir::NodeId node, int opset) {
  if (arena.node(node).kind != ir::NodeKind::operation || arena.node(node).is_constant) return {};
  XFLOW_CHECK(spell(arena, node, opset));
  return {};
}

}  // namespace xflow::onnx_io
