#include "src/onnx/lower/lower.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "src/onnx/document/document_builder.h"
#include "src/onnx/lift/declared_shapes.h"
#include "src/onnx/lift/mapping_table.h"
#include "src/onnx/lower/lower_names.h"
#include "src/onnx/lower/lowering_plan.h"
#include "src/ops/operator.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool has_named_nodes(const Document& document) {
  const auto nodes = document.nodes(GraphId{0});
  return nodes.empty() || std::ranges::any_of(nodes, [](const Node& node) { return !node.name.empty(); });
}

class ModelWriter {
 public:
  ModelWriter(const LowerTask& task, LoweringPlan plan)
      : document_(task.document),
        model_(task.model),
        arena_(task.arena),
        graph_(task.graph),
        plan_(std::move(plan)),
        fresh_(task.document, task.options.around, task.options.name_prefix),
        shapes_(task.document, task.model, task.arena),
        declare_(task.options.declare),
        named_(has_named_nodes(document_)),
        initializers_are_inputs_(document_.model().ir_version < kFirstWithOwnInitializers) {}

  Result<LoweredModel> run() {
    for (const ItemId item : plan_.order) XFLOW_CHECK(write_item(plan_.items[item]));
    count_dropped();
    result_.fused_nodes = plan_.fused;
    GraphEdit edit;
    edit.graph = GraphId{0};
    XFLOW_CHECK(write_initializers(edit));
    write_value_infos(edit);
    edit.nodes = std::move(nodes_);
    const bool changes_nodes = result_.dropped_nodes + result_.new_nodes + result_.renamed_nodes > 0;
    if (changes_nodes || result_.dropped_constant_bytes > 0 || result_.declared > 0) result_.edits.push_back(std::move(edit));
    return std::move(result_);
  }

 private:
  // From this IR version on an initializer need not be an input. For earlier versions new constants are
  // nodes.
  static constexpr std::int64_t kFirstWithOwnInitializers = 4;

  // --- Names ----------------------------------------------------------------------------------------------------------------------

  // Returns the current name of a definition of the document. It changed if the definition became an output
  // or an output took its name.
  std::string document_name(std::string_view name) {
    if (const auto found = plan_.renamed.find(name); found != plan_.renamed.end()) return std::string(found->second);
    if (!plan_.taken.contains(name)) return std::string(name);
    std::string& moved = moved_names_[name];
    if (moved.empty()) moved = fresh_.next("value");
    return moved;
  }

  std::string name_of(ValueId value) {
    const auto home = plan_.homes.find(value);
    if (home != plan_.homes.end() && home->second.kind == Home::Kind::document) return document_name(home->second.name);
    if (const auto given = plan_.given.find(value); given != plan_.given.end()) return std::string(given->second);
    std::string& name = fresh_names_[value];
    if (name.empty()) name = fresh_.next(hint(value));
    return name;
  }

  std::string_view hint(ValueId value) const {
    const auto home = plan_.homes.find(value);
    if (home != plan_.homes.end() && home->second.kind == Home::Kind::item &&
        plan_.items[home->second.item].kind == PlanItem::Kind::integers)
      return "shape";
    const ir::Node& node = arena_.node(value);
    return node.kind == ir::NodeKind::operation && !plan_.folded.contains(value) ? ops::get(node.op).signature.name : "constant";
  }

  std::string input_name(const PlanInput& input) {
    if (input.absent) return {};
    return input.document_name.empty() ? name_of(input.value) : document_name(input.document_name);
  }

  // --- Nodes ----------------------------------------------------------------------------------------------------------------------

  Result<void> write_item(const PlanItem& item) {
    switch (item.kind) {
      case PlanItem::Kind::document:
        write_document_item(item);
        return {};
      case PlanItem::Kind::identity: {
        const std::string name(item.name);
        const std::string input = input_name(item.inputs[0]);
        NodeBuilder node("Identity");
        const std::string title = fresh_.next("Identity");
        if (named_) node.name(title);
        add_node(node.input(input).output(name).message());
        written_.insert(name);
        return {};
      }
      case PlanItem::Kind::integers:
        return write_integers_item(item);
      case PlanItem::Kind::exported:
        return write_exported(item);
    }
    return {};
  }

  void add_node(std::string message) {
    nodes_.push_back(Entry::add(std::move(message)));
    ++result_.new_nodes;
  }

  void write_document_item(const PlanItem& item) {
    const Node& node = document_.node(item.document_node);
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    inputs.reserve(item.inputs.size());
    for (const PlanInput& input : item.inputs) inputs.push_back(input_name(input));
    for (const std::string_view name : node.outputs) {
      outputs.push_back(name.empty() ? std::string() : document_name(name));
      written_.insert(outputs.back());
      if (!name.empty()) made_.emplace_back(outputs.back(), model_.values.at(name));
    }
    const bool unchanged = std::equal(inputs.begin(), inputs.end(), node.inputs.begin(), node.inputs.end()) &&
                           std::equal(outputs.begin(), outputs.end(), node.outputs.begin(), node.outputs.end());
    const auto position = static_cast<std::uint32_t>(index(node.id)) - document_.main().first_node;
    if (unchanged) {
      nodes_.push_back(Entry::keep(position));
      ++result_.kept_nodes;
    } else {
      nodes_.push_back(Entry::add(renamed_node(node, inputs, outputs)));
      ++result_.renamed_nodes;
    }
  }

  Result<void> write_integers_item(const PlanItem& item) {
    const std::string name = name_of(item.outputs[0]);
    written_.insert(name);
    return write_integers(item.integers, item.scalar, item.sources, name);
  }

  Result<void> write_exported(const PlanItem& item) {
    NodeBuilder node(item.type);
    std::vector<std::string> outputs;
    outputs.reserve(item.outputs.size());
    for (const ValueId v : item.outputs) made_.emplace_back(outputs.emplace_back(name_of(v)), v);
    // If the output has a name of the document, a node of the document may have the same name, so the new
    // node gets a fresh one.
    const std::string title = plan_.given.contains(item.outputs[0]) ? fresh_.next(item.type) : outputs[0];
    if (named_) node.name(title);
    std::vector<std::string> inputs;
    for (const ops::Exported::Input& input : item.exported.inputs) {
      XFLOW_TRY(std::string name, exported_input(item, input));
      inputs.push_back(std::move(name));
    }
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    for (const std::string& name : inputs) node.input(name);
    for (const std::string& name : outputs) node.output(name);
    for (const auto& [name, value] : item.exported.attributes) XFLOW_CHECK(add_attribute(node, name, value));
    add_node(node.message());
    written_.insert(outputs.begin(), outputs.end());
    return {};
  }

  Result<std::string> exported_input(const PlanItem& item, const ops::Exported::Input& input) {
    if (const auto* operand = std::get_if<ops::Exported::OperandInput>(&input))
      return input_name(item.operands[static_cast<std::size_t>(operand->operand)]);
    if (const auto* constant = std::get_if<ops::Exported::ConstantInput>(&input)) return constant_name(constant->constant);
    const auto* integers = std::get_if<ops::Exported::IntegersInput>(&input);
    if (integers == nullptr) return std::string();
    if (const auto known = ir::constant_shape(integers->values)) return integers_name(*known, integers->scalar);
    std::string name = fresh_.next("shape");
    XFLOW_CHECK(write_integers(integers->values, integers->scalar, item.sources, name));
    return name;
  }

  static Result<void> add_attribute(NodeBuilder& node, const std::string& name, const ops::Exported::AttributeValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) node.integer(name, *integer);
    if (const auto* real = std::get_if<float>(&value)) node.real(name, *real);
    if (const auto* word = std::get_if<std::string>(&value)) node.string(name, *word);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) node.integers(name, *list);
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) node.reals(name, *reals);
    if (const auto* constant = std::get_if<ir::Constant>(&value)) {
      XFLOW_TRY(const auto bytes, constant->source->bytes());
      node.tensor(name, tensor_message("", constant->data_type, constant->dims, text_of(bytes)));
    }
    return {};
  }

  Result<void> write_integers(const std::vector<ir::Poly>& polys, bool scalar, const std::vector<SizeSource>& sources,
                              const std::string& output) {
    ShapeNames names;
    names.name_of = [&](ValueId v) { return name_of(v); };
    names.integers = [&](const std::vector<std::int64_t>& values) { return integers_name(values, false); };
    names.fresh = [&](std::string_view hint) { return fresh_.next(hint); };
    XFLOW_TRY(auto messages, compute_integers(arena_.symbols(), polys, scalar, sources, model_.opset, names, output));
    for (std::string& message : messages) add_node(std::move(message));
    return {};
  }

  // --- Constants ------------------------------------------------------------------------------------------------------------------

  std::string integers_name(const std::vector<std::int64_t>& values, bool scalar) {
    std::vector<std::int64_t> dims;
    if (!scalar) dims.push_back(static_cast<std::int64_t>(values.size()));
    return constant_name(ir::make_integer_constant(ir::DataType::int64, dims, values));
  }

  // Returns the name of a new initializer. Equal small constants share one.
  std::string constant_name(const ir::Constant& constant) {
    std::string& name = new_names_[arena_.constant(constant)];
    if (name.empty()) {
      name = fresh_.next("constant");
      new_constants_.emplace_back(name, constant);
    }
    return name;
  }

  // Shape inference reads such integers if it knows the operand's shape, but not from external data.
  // onnx.checker and ONNX Runtime refuse a model in which more shapes are known than in the original, so
  // these tensors are stored inline.
  static bool may_be_shape(const TensorView& tensor) {
    const bool of_integers = tensor.data_type == ir::DataType::int64 || tensor.data_type == ir::DataType::int32;
    const auto elements = tensor.elements();
    return tensor.storage == TensorStorage::external && of_integers && elements && *elements <= ir::Constant::kSmall;
  }

  Result<void> write_initializers(GraphEdit& edit) {
    std::vector<Entry> entries;
    const Graph& main = document_.main();
    for (std::uint32_t i = 0; i < main.initializers.size(); ++i) {
      const std::string_view name = main.initializers[i].tensor.name;
      const Definition* definition = document_.find(GraphId{0}, name);
      // Keep the default of an input, because callers rely on it.
      if ((definition != nullptr && definition->input) || plan_.kept_initializers.contains(i)) {
        const TensorView& tensor = main.initializers[i].tensor;
        entries.push_back(may_be_shape(tensor) ? Entry::add(inlined_tensor(tensor)) : Entry::keep(i));
        written_.emplace(name);
      } else {
        result_.dropped_constant_bytes += main.initializers[i].field.size();
      }
    }
    for (const auto& [value, constant] : folded_in_order()) new_constants_.emplace_back(name_of(value), *constant);
    std::vector<Entry> constant_nodes;
    for (const auto& [name, constant] : new_constants_) {
      XFLOW_TRY(const auto bytes, constant.source->bytes());
      const std::string_view raw = text_of(bytes);
      written_.insert(name);
      result_.new_constant_bytes += raw.size();
      if (initializers_are_inputs_) {
        NodeBuilder node("Constant");
        node.name(name).output(name).tensor("value", tensor_message("", constant.data_type, constant.dims, raw));
        constant_nodes.push_back(Entry::add(node.message()));
        ++result_.new_nodes;
        continue;
      }
      entries.push_back(Entry::add(tensor_header(name, constant.data_type, constant.dims, raw.size()), raw));
      result_.constants.push_back(constant);
    }
    nodes_.insert(nodes_.begin(), std::make_move_iterator(constant_nodes.begin()), std::make_move_iterator(constant_nodes.end()));
    edit.initializers = std::move(entries);
    return {};
  }

  // --- The rest -------------------------------------------------------------------------------------------------------------------

  // Keeps the declared type of every value that still exists under its name, and declares new values.
  void write_value_infos(GraphEdit& edit) {
    std::vector<Entry> entries;
    const Graph& main = document_.main();
    std::unordered_set<std::string_view> declared;
    for (const ValueInfo& output : main.outputs) declared.insert(output.name);
    for (const ValueInfo& info : main.value_infos) declared.insert(info.name);
    for (std::uint32_t i = 0; i < main.value_infos.size(); ++i) {
      const std::string_view name = main.value_infos[i].name;
      const Definition* definition = document_.find(GraphId{0}, name);
      const bool is_leaf = definition != nullptr && (definition->input || definition->sparse_initializer);
      if (is_leaf || definition == nullptr || written_.contains(std::string(name))) entries.push_back(Entry::keep(i));
    }
    for (const auto& [name, value] : made_) {
      if (!declare_ || declared.contains(name)) continue;
      auto message = shapes_.message(name, value);
      if (!message) continue;
      entries.push_back(Entry::add(*std::move(message)));
      ++result_.declared;
    }
    edit.value_infos = std::move(entries);
  }

  void count_dropped() {
    for (const Node& node : document_.nodes(GraphId{0})) {
      if (plan_.document_items.contains(node.id)) continue;
      ++result_.dropped_nodes;
      if (node.outputs.empty() || node.outputs[0].empty()) continue;
      const auto origin = model_.origins.find(model_.values.at(node.outputs[0]));
      if (origin != model_.origins.end() && origin->second.node != node.id && plan_.document_items.contains(origin->second.node))
        ++result_.merged_nodes;
    }
  }

  // The folded values in the order of the graph: the numbers of nodes depend on what else is in the arena.
  std::vector<std::pair<ValueId, const ir::Constant*>> folded_in_order() const {
    std::map<ir::NodeId, std::size_t> positions;
    for (const ir::NodeId id : ir::topological_order(arena_, graph_)) positions.emplace(id, positions.size());
    std::vector<std::pair<ValueId, const ir::Constant*>> folded;
    folded.reserve(plan_.folded.size());
    for (const auto& [value, constant] : plan_.folded) folded.emplace_back(value, &constant);
    std::ranges::stable_sort(folded, {}, [&](const auto& entry) {
      const auto position = positions.find(entry.first.node);
      return position == positions.end() ? positions.size() : position->second;
    });
    return folded;
  }

  const Document& document_;
  const LiftedModel& model_;
  ir::Arena& arena_;
  const ir::Graph& graph_;
  const LoweringPlan plan_;
  FreshNames fresh_;
  DeclaredShapes shapes_;
  const bool declare_;
  const bool named_;  // whether new nodes get names, as those of the document do
  const bool initializers_are_inputs_;

  std::vector<Entry> nodes_;
  std::unordered_set<std::string> written_;            // value names of the written graph
  std::vector<std::pair<std::string, ValueId>> made_;  // values of exported nodes, in their order
  std::map<std::string_view, std::string> moved_names_;
  std::map<ValueId, std::string> fresh_names_;
  std::map<ValueId, std::string> new_names_;  // of constants in the arena
  std::vector<std::pair<std::string, ir::Constant>> new_constants_;
  LoweredModel result_;
};

}  // namespace

Result<LoweredModel> lower(const Document& document, const LiftedModel& model, ir::Arena& arena, const ir::Graph& graph,
                           const ir::ValueMap& correspondence, const Fold& fold, const LowerOptions& options) {
  const LowerTask task{document, model, arena, graph, correspondence, fold, options};
  XFLOW_TRY(LoweringPlan plan, make_plan(task));
  return ModelWriter(task, std::move(plan)).run();
}

Result<void> can_export(const ir::Arena& arena, ir::NodeId node, int opset) {
  if (arena.node(node).kind != ir::NodeKind::operation || arena.node(node).is_constant) return {};
  XFLOW_CHECK(export_node(arena, node, opset));
  return {};
}

}  // namespace xflow::onnx_io
