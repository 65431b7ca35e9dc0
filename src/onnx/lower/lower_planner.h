// Makes the plan of lowering. Private to make_plan().
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/onnx/lower/fused_export.h"
#include "src/onnx/lower/lower_match.h"
#include "src/onnx/lower/lowering_plan.h"

namespace xflow::onnx_io {

class Planner {
 public:
  explicit Planner(const LowerTask& task);
  Result<LoweringPlan> run();

 private:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  ir::ValueId current(ir::ValueId v) const;
  bool is_original(std::size_t output) const { return model_.values.at(model_.output_names[output]) == graph_.outputs[output]; }
  // Whether the value is exported even if the document defines it.
  bool is_reexported(ir::ValueId v) const { return reexport_ && arena_.node(v).kind == ir::NodeKind::operation; }
  // Whether the value is written as one node that replaces several nodes of the document.
  bool is_fused(ir::ValueId v) const;
  std::optional<FusedExport> fused(ir::ValueId v) const;
  // Whether an output is a captured constant that becomes an initializer.
  bool is_stored(std::size_t output) const { return output >= model_.output_count && is_folded(model_.output_names[output]); }
  // Whether an output is written by its definition in the document.
  bool is_by_definition(std::size_t output) const;
  // Indexes the values whose shapes may be read: inputs first, then computed values that nodes of the
  // document define.
  void index_sizes();
  // Returns the position of `reader` in the graph; kNoLimit if it is not there. Values before that position
  // cannot depend on `reader`.
  std::size_t limit_of(ir::ValueId reader) const { return uses_.contains(reader.node) ? uses_.position(reader.node) : kNoLimit; }

  // Collects everything that must be written.
  Result<void> collect();
  // Returns the node of the document that can give an output its name in place of an Identity; null if there
  // is none.
  const Node* copy_of_output(std::size_t output) const;
  // Whether an output needs a copy: its value is an input, a constant, or another output's value.
  bool needs_copy(std::size_t output) const;
  Result<void> demand(const PlanInput& input);
  // Keeps the document's definition of this name unchanged.
  void demand_name(std::string_view name);
  Result<void> demand_value(ir::ValueId value);
  // Writes the node of the document, on its own operands or (`mapped`) on their replacements. Returns false
  // if the node is already written the other way.
  bool demand_document_node(NodeId id, bool mapped, std::size_t limit);
  ItemId add_item(PlanItem item);
  PlanInput input_of(std::string_view name, bool mapped, std::size_t limit);
  bool is_folded(std::string_view name) const { return folds_ != nullptr && folds_->constants.contains(name); }
  // Writes a partly known shape as a constant.
  bool mark(ir::ValueId before, ir::ValueId value);
  // Handles a value that no operation of the graph reads as an operand: nodes of the document read only its
  // integers (a shape). If its own nodes would keep values alive that the rewrites made superfluous,
  // computes the integers from the shapes of existing values.
  void compute_integers_of(ir::ValueId value, std::size_t limit);
  // Whether the document's nodes for `value` need a value that is not part of the graph, integers and
  // booleans aside.
  bool drags(ir::ValueId value) const;
  Result<void> demand_exported(ir::ValueId value);
  // Finds the values whose shapes give the symbolic integers of a new node, unless a node of the document
  // has these integers.
  Result<void> find_size_sources(PlanItem& item, ir::ValueId value);
  // Returns a node of the document that computes the same shape from the same shape with the same operator.
  // Returns null when the shape might depend on `value` (recompute_shapes_).
  const Node* node_with_shape(const PlanItem& item, ir::ValueId value) const;
  // Sets the only unknown dimension to -1, which Reshape infers.
  static void infer_one_dimension(ops::Exported::IntegersInput& shape);

  // Gives every output its name: by its own definition, by naming the value that replaced it, or by an
  // Identity.
  Result<void> name_outputs();
  // Lets a value that replaced another one inherit its name if the other is not written, so that the nodes
  // that read the name are unchanged.
  void inherit_names();

  // Returns false if there is a cycle.
  bool order_items();
  std::span<const std::string_view> captures_of(const PlanItem& item) const;
  std::size_t dependency_count(const PlanItem& item) const { return item.inputs.size() + item.operands.size() + captures_of(item).size(); }
  // Returns the item that produces dependency k of `item`; nothing for inputs and initializers.
  std::optional<ItemId> dependency(const PlanItem& item, std::size_t k) const;
  std::optional<ItemId> maker_of_name(std::string_view name) const;
  std::optional<ItemId> maker_of(const PlanInput& input) const;

  const Document& document_;
  const LiftedModel& model_;
  ir::Arena& arena_;
  const ir::Graph& graph_;
  const Fold& fold_;
  const bool reexport_;
  const bool fuse_;
  const FoldedShapes* const folds_;
  const ir::ValueMap& correspondence_;
  const ir::Uses uses_;
  SizeIndex sizes_;
  std::unordered_map<ir::ValueId, Origin> rebuilt_;
  std::unordered_map<std::string_view, std::size_t> output_numbers_;
  std::unordered_set<ir::ValueId> not_absorbed_;
  bool recompute_shapes_ = false;

  LoweringPlan plan_;
  std::unordered_map<ir::NodeId, ItemId> node_items_;  // exported items
  // Nodes of the document: whether they read the replacements of their operands.
  std::unordered_map<NodeId, bool> mapped_;
  std::unordered_map<std::string_view, ItemId> identities_;
  std::set<std::string_view> copies_;  // outputs that their own nodes copy
  std::vector<ir::ValueId> absorbed_;
  std::vector<ItemId> work_;
};

}  // namespace xflow::onnx_io
