#include "src/onnx/lift/folded_shapes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/ops/integer_content.h"

namespace xflow::onnx_io {
namespace {

using ir::ValueId;

class ShapeFolder {
 public:
  ShapeFolder(const Document& document, const LiftedModel& model, ir::Arena& arena, bool exact)
      : document_(document), model_(model), arena_(arena), exact_(exact), uses_(arena, model.graph), contents_(arena) {}

  FoldedShapes run() {
    find_constants();
    find_readers();
    for (const auto& [value, readers] : readers_) {
      if (!readers.of_graph || readers.others || model_.of_opaque.contains(value)) continue;
      if (auto constant = marked(value, readers.reshapes)) result_.marked.emplace(value, *std::move(constant));
    }
    if (!result_.constants.empty() || !result_.marked.empty() || !result_.identities.empty()) find_superfluous();
    return std::move(result_);
  }

 private:
  struct Readers {
    bool of_graph = false;  // read by a node that computes a value of the graph
    bool others = false;    // read as something else than the shape of a Reshape
    std::vector<const Node*> reshapes;
  };

  bool makes_something(const Node& node) const {
    return std::ranges::any_of(node.outputs,
                               [&](std::string_view name) { return !name.empty() && uses_.contains(model_.values.at(name).node); });
  }

  // A constant that the document computes from constants alone is not folded here: a runtime computes it
  // once.
  void find_constants() {
    const std::unordered_set<std::string_view> shown(model_.output_names.begin(), model_.output_names.end());
    for (const NodeId id : document_.main().order) {
      const Node& node = document_.node(id);
      const bool of_run = std::ranges::any_of(node.inputs, [&](std::string_view name) {
        return !name.empty() && (computed_.contains(name) || !arena_.is_constant(model_.values.at(name)));
      });
      if (!of_run) {
        if (copies(node) && !shown.contains(node.outputs[0])) result_.identities.emplace(node.outputs[0], source_of(node.inputs[0]));
        continue;
      }
      for (const std::string_view name : node.outputs) {
        if (name.empty() || !arena_.is_constant(model_.values.at(name))) continue;
        computed_.insert(name);
        if (is_folded(model_.values.at(name)) && !shown.contains(name)) result_.constants.insert(name);
      }
    }
  }

  // Only for values with a name: a document may leave names out.
  bool copies(const Node& node) const {
    if (!node.is("Identity") || node.inputs.size() != 1 || node.outputs.size() != 1) return false;
    if (node.inputs[0].empty() || node.outputs[0].empty()) return false;
    return model_.values.at(node.inputs[0]) == model_.values.at(node.outputs[0]);
  }

  // Returns the name to read instead of `name`: skips identities.
  std::string_view source_of(std::string_view name) const {
    const auto found = result_.identities.find(name);
    return found == result_.identities.end() ? name : found->second;
  }

  bool is_folded(ValueId value) const {
    const ir::TensorType& type = arena_.type(value);
    if (exact_ && ir::is_floating(type.data_type)) return false;
    const auto dims = ir::constant_shape(type.shape);
    if (!dims) return false;
    double elements = 1;
    for (const std::int64_t dim : *dims) elements *= static_cast<double>(dim);
    return elements <= static_cast<double>(ir::Constant::kSmall);
  }

  // Finds integer values that no operation of the graph reads as an operand, and their readers in the
  // document.
  void find_readers() {
    for (const NodeId id : document_.main().order) {
      const Node& node = document_.node(id);
      const bool of_graph = makes_something(node);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k].empty()) continue;
        const ValueId value = model_.values.at(node.inputs[k]);
        if (!is_candidate(value)) continue;
        Readers& readers = readers_[value];
        readers.of_graph = readers.of_graph || of_graph;
        const bool lifted = !node.outputs.empty() && arena_.node(model_.values.at(node.outputs[0])).kind == ir::NodeKind::operation;
        if (node.is("Reshape") && k == 1 && lifted) {
          readers.reshapes.push_back(&node);
        } else {
          readers.others = true;
        }
      }
    }
  }

  bool is_candidate(ValueId value) const {
    const ir::Node& node = arena_.node(value);
    if (node.is_constant || node.kind != ir::NodeKind::operation || uses_.contains(value.node)) return false;
    const ir::TensorType& type = arena_.type(value);
    return (type.data_type == ir::DataType::int64 || type.data_type == ir::DataType::int32) && type.ranked && type.rank() <= 1;
  }

  std::optional<ir::Constant> marked(ValueId value, const std::vector<const Node*>& reshapes) {
    auto content = contents_.of(value);
    if (!content || !mark(*content, reshapes)) return std::nullopt;
    std::vector<std::int64_t> values;
    for (const ir::Poly& p : *content) values.push_back(p.constant_term());
    std::vector<std::int64_t> dims;
    if (arena_.type(value).rank() == 1) dims.push_back(static_cast<std::int64_t>(values.size()));
    return ir::make_integer_constant(arena_.type(value).data_type, dims, values);
  }

  // Replaces unknown sizes by marks, in addition to the marks of the document: 0 if every operand has this
  // size, so that shape inference still knows it, and -1 otherwise. Returns false if marks cannot express
  // the shape for each of the Reshapes.
  bool mark(std::vector<ir::Poly>& shape, const std::vector<const Node*>& reshapes) {
    const bool zero_is_mark = std::ranges::all_of(reshapes, [](const Node* node) {
      const Attribute* allowed = node->find("allowzero");
      return allowed == nullptr || allowed->integer().value_or(1) == 0;
    });
    std::size_t inferred = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const bool open = !shape[k].is_constant();
      const bool copied = open && zero_is_mark && std::ranges::all_of(reshapes, [&](const Node* node) {
                            const ir::TensorType& from = arena_.type(model_.values.at(node->inputs[0]));
                            return from.ranked && k < from.rank() && from.shape[k] == shape[k];
                          });
      if (open) shape[k] = copied ? 0 : -1;
      if (shape[k].is_zero() && !zero_is_mark) return false;
      if (shape[k].constant_term() < 0) ++inferred;
    }
    return inferred <= 1;
  }

  // Walks back from the outputs and skips folded values.
  void find_superfluous() {
    const std::unordered_set<std::string_view> before = needed(false);
    const std::unordered_set<std::string_view> after = needed(true);
    for (const NodeId id : document_.main().order) {
      const auto in = [&](const std::unordered_set<std::string_view>& names) {
        return std::ranges::any_of(document_.node(id).outputs, [&](std::string_view name) { return names.contains(name); });
      };
      const bool of_run = std::ranges::any_of(document_.node(id).outputs, [&](std::string_view name) {
        const bool constant = !name.empty() && arena_.is_constant(model_.values.at(name));
        return !name.empty() && (!constant || computed_.contains(name) || result_.identities.contains(name));
      });
      if (of_run && in(before) && !in(after)) result_.superfluous.push_back(id);
    }
  }

  std::unordered_set<std::string_view> needed(bool folded) const {
    std::unordered_set<std::string_view> names(model_.output_names.begin(), model_.output_names.end());
    const auto& order = document_.main().order;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = document_.node(*id);
      if (std::ranges::none_of(node.outputs, [&](std::string_view name) { return names.contains(name); })) continue;
      for (const std::string_view name : node.inputs)
        if (!name.empty() && !(folded && is_known(name))) names.insert(folded ? source_of(name) : name);
      names.insert(node.captures.begin(), node.captures.end());
    }
    return names;
  }

  bool is_known(std::string_view name) const { return result_.constants.contains(name) || result_.marked.contains(model_.values.at(name)); }

  const Document& document_;
  const LiftedModel& model_;
  ir::Arena& arena_;
  const bool exact_;
  const ir::Uses uses_;
  ops::IntegerContent contents_;
  std::unordered_map<ValueId, Readers> readers_;
  std::unordered_set<std::string_view> computed_;  // constants that the document computes from sizes
  FoldedShapes result_;
};

}  // namespace

FoldedShapes fold_shapes(const Document& document, const LiftedModel& model, ir::Arena& arena, bool exact) {
  return ShapeFolder(document, model, arena, exact).run();
}

}  // namespace xflow::onnx_io
