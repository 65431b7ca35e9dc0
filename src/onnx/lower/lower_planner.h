// How a plan of lowering is made. Private to make_plan().
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
#include "src/onnx/lower/lower_plan.h"

namespace xflow::onnx_io {

class Planner {
 public:
  explicit Planner(const LowerTask& task);
  Result<Plan> run();

 private:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  ir::ValueId current(ir::ValueId v) const;
  bool is_original(std::size_t output) const { return model_.values.at(model_.output_names[output]) == graph_.outputs[output]; }
  // Whether the value is written by the definition of the document that made it, where that is possible.
  bool is_reexported(ir::ValueId v) const { return reexport_ && arena_.node(v).kind == ir::NodeKind::operation; }
  // Whether the value is written by one node for it and for what other nodes of the document make.
  bool is_fused(ir::ValueId v) const;
  std::optional<FusedExport> fused(ir::ValueId v) const;
  // Whether an output is a captured constant that becomes an initializer.
  bool is_stored(std::size_t output) const { return output >= model_.output_count && is_folded(model_.output_names[output]); }
  // Whether an output is written by the definition that it has in the document.
  bool is_by_definition(std::size_t output) const;
  // Values whose shapes may be asked for: inputs first, then what the graph computes and some node of the document shows.
  void index_sizes();
  // What stands before `reader` in the graph cannot depend on it.
  std::size_t limit_of(ir::ValueId reader) const { return uses_.contains(reader.node) ? uses_.position(reader.node) : kNoLimit; }

  // What has to be written.
  Result<void> collect();
  // The node of the document that can give an output its name in the place of an Identity; null if there is none.
  const Node* copy_of_output(std::size_t output) const;
  // It is an input, a constant, or another output has its name.
  bool needs_copy(std::size_t output) const;
  Result<void> demand(const PlanInput& input);
  // The definition of this name in the document is needed as it is.
  void demand_name(std::string_view name);
  Result<void> demand_value(ir::ValueId value);
  // Writes the node of the document back, on its own operands or on what became of them. False if it is written the other way already.
  bool demand_document_node(NodeId id, bool mapped, std::size_t limit);
  ItemId add_item(PlanItem item);
  PlanInput input_of(std::string_view name, bool mapped, std::size_t limit);
  bool is_folded(std::string_view name) const { return folds_ != nullptr && folds_->constants.contains(name); }
  // Writes a shape that is known in part as a constant.
  bool mark(ir::ValueId before, ir::ValueId value);
  // A value that no operation of the graph reads as an operand is read for its integers alone (a shape). If its own nodes would keep alive
  // something that the rewrites made superfluous, it is recomputed from shapes that are there.
  void compute_integers_of(ir::ValueId value, std::size_t limit);
  // Whether writing the document's nodes for `value` needs a value that is no part of the graph.
  bool drags(ir::ValueId value) const;
  Result<void> demand_exported(ir::ValueId value);
  // Symbolic integers of a new node need values whose shapes show them, unless the document has them.
  Result<void> find_size_sources(PlanItem& item, ir::ValueId value);
  // A node of the document that makes the same shape of the same shape by the same operator. None where that may depend on `value`.
  const Node* node_with_shape(const PlanItem& item, ir::ValueId value) const;
  // Reshape finds one dimension by itself: -1.
  static void infer_one_dimension(ops::Exported::IntegersInput& shape);

  // Every output keeps its name: its own definition has it, or the value that took its place gets it, or an Identity gives it.
  Result<void> name_outputs();
  // A value that replaced another one inherits its name, if the other is not written: the nodes that read it stay as they are.
  void inherit_names();

  // False if there is a cycle.
  bool order_items();
  std::span<const std::string_view> captures_of(const PlanItem& item) const;
  std::size_t dependency_count(const PlanItem& item) const { return item.inputs.size() + item.operands.size() + captures_of(item).size(); }
  // The item that makes what `item` reads at place k; nothing for inputs and initializers.
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

  Plan plan_;
  std::unordered_map<ir::NodeId, ItemId> node_items_;  // exported
  std::unordered_map<NodeId, bool> mapped_;            // nodes of the document: on what became of their operands
  std::unordered_map<std::string_view, ItemId> identities_;
  std::set<std::string_view> copies_;  // outputs that their own nodes copy
  std::vector<ir::ValueId> absorbed_;
  std::vector<ItemId> work_;
};

}  // namespace xflow::onnx_io
