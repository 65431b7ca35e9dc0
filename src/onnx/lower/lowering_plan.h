// The plan of lowering: which nodes of the document are kept, which operations are exported, which constants
// are needed, and their order.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/onnx/lower/lower.h"
#include "src/onnx/lower/lower_shapes.h"
#include "src/ops/onnx_mapping.h"

namespace xflow::onnx_io {

// The arguments of lower().
struct LowerTask {
  const Document& document;
  const LiftedModel& model;
  ir::Arena& arena;
  const ir::Graph& graph;
  const ir::ValueMap& correspondence;
  const Fold& fold;
  const LowerOptions& options;
};

// An input of a node to be written: a value of the IR under any name, or a name of the document.
struct PlanInput {
  ir::ValueId value;
  std::string_view document_name;  // if not empty: read the document's definition of this name
  bool absent = false;
};

// A node (or a short sequence of nodes) to be written. The comments name the kinds that use a member.
struct PlanItem {
  enum class Kind : std::uint8_t { document, exported, identity, integers };
  Kind kind = Kind::document;
  NodeId document_node{};  // document
  // document: in the order of the ONNX node; otherwise values that must be computed first.
  std::vector<PlanInput> inputs;
  std::vector<ir::ValueId> outputs;  // exported, integers (one): the values that it produces
  std::string_view type;             // exported
  ops::Exported exported;            // exported; OperandInput counts `operands`
  std::vector<PlanInput> operands;   // exported
  std::string_view name;             // identity: the name of the output
  std::vector<ir::Poly> integers;    // integers: the elements
  bool scalar = false;               // integers
  std::vector<SizeSource> sources;   // integers, and exported with symbolic integers
};

using ItemId = std::size_t;

// The origin of a value of the graph in the written model.
struct Home {
  enum class Kind : std::uint8_t {
    // An input, an initializer or a node's output that the document defines as `name`.
    document,
    item,    // a plan item: exported or integers
    folded,  // a new initializer
  };
  Kind kind = Kind::document;
  std::string_view name;
  ItemId item = 0;
};

struct LoweringPlan {
  std::vector<PlanItem> items;
  // Dependencies first; nodes of the document keep their order if possible.
  std::vector<ItemId> order;
  std::unordered_map<NodeId, ItemId> document_items;
  std::unordered_map<ir::ValueId, Home> homes;  // of every needed value
  std::set<std::uint32_t> kept_initializers;
  std::map<ir::ValueId, ir::Constant> folded;
  // Names of outputs and inherited names, for values whose home is an item or folded.
  std::map<ir::ValueId, std::string_view> given;
  // Definitions of the document that become an output.
  std::map<std::string_view, std::string_view> renamed;
  // Values that nodes of the document produce and that a written node computes internally.
  std::size_t fused = 0;
  // Names that no longer stand for the document's definition.
  std::set<std::string_view> taken;
};

Result<LoweringPlan> make_plan(const LowerTask& task);

}  // namespace xflow::onnx_io
