// What lowering writes: which nodes of the document stay, which operations are exported, which constants are needed, and in what order.
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

// What a node to be written reads: a value of the IR under whatever name it gets, or a name of the document.
struct PlanInput {
  ir::ValueId value;
  std::string_view document_name;  // not empty: read what the document defines under this name
  bool absent = false;
};

// A node (or a short run of nodes) to be written.
struct PlanItem {
  enum class Kind : std::uint8_t { document, exported, identity, integers };
  Kind kind = Kind::document;
  NodeId document_node{};            // document
  std::vector<PlanInput> inputs;     // document: in the order of the ONNX node; otherwise values that have to be there before it
  std::vector<ir::ValueId> outputs;  // exported, integers (one): the values that it makes
  std::string_view type;             // exported
  ops::Exported exported;            // exported; OperandInput counts `operands`
  std::vector<PlanInput> operands;   // exported
  std::string_view name;             // identity: of the output
  std::vector<ir::Poly> integers;    // integers: the elements
  bool scalar = false;               // integers
  std::vector<SizeSource> sources;   // integers, and exported with symbolic integers
};

using ItemId = std::size_t;

// Where a value of the graph comes from in the written model.
struct Home {
  enum class Kind : std::uint8_t {
    document,  // an input, an initializer or a node's output that the document defines as `name`
    item,      // exported or integers
    folded,    // a new initializer
  };
  Kind kind = Kind::document;
  std::string_view name;
  ItemId item = 0;
};

struct Plan {
  std::vector<PlanItem> items;
  std::vector<ItemId> order;  // dependencies first; nodes of the document in their order where that is possible
  std::unordered_map<NodeId, ItemId> document_items;
  std::unordered_map<ir::ValueId, Home> homes;  // of every value that is needed
  std::set<std::uint32_t> kept_initializers;
  std::map<ir::ValueId, ir::Constant> folded;
  std::map<ir::ValueId, std::string_view> given;         // names of values whose home is an item or folded: outputs and inherited names
  std::map<std::string_view, std::string_view> renamed;  // definitions of the document that become an output
  std::size_t fused = 0;                                 // values that nodes of the document make and that a written node hides
  std::set<std::string_view> taken;                      // names that now stand for something else than the document's definition
};

Result<Plan> make_plan(const LowerTask& task);

}  // namespace xflow::onnx_io
