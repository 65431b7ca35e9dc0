// The nodes of a document that the parts of a plan have as they are: nodes that xflow does not know, nodes
// with bodies, and nodes whose sizes depend on those (docs/parallelize.md, *As parts*).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/model_tasks.h"
#include "src/parallel/split_model.h"

namespace xflow::parallel {

// A value under the name that kept nodes know it by.
struct KeptValue {
  std::string name;
  ir::ValueId value;    // of the model
  ir::TensorType type;  // sizes that are known before a run are numbers
};

// An operator that consists of nodes of the document.
struct KeptNodes {
  // In topological order. Beside the node of the operator: nodes whose results no other operator has, such
  // as those that compute a shape.
  std::vector<onnx_io::NodeId> nodes;
  std::vector<std::string_view> initializers;  // that the nodes read
  std::vector<KeptValue> reads;                // what they read beside each other's results and initializers, each once
  std::vector<KeptValue> results;              // by SplitOperator::outputs; without a name: all readers are kept, too
  // Two runs may differ, so that one device runs the nodes even if the plan has copies.
  bool is_random = false;
};

// By number of the operator.
using KeptOperators = std::map<std::uint32_t, KeptNodes>;

// Whether each task has to stay as it is: an operation of it is opaque, or a size or an attribute of it is
// not known before a run. `sizes` has those that are.
std::vector<bool> tasks_to_keep(const onnx_io::LiftedModel& lifted, const ir::Arena& arena, const ModelTasks& tasks,
                                const ir::Symbols::Valuation& sizes);

// The nodes of the operators of a model that are kept. Operators are tasks.
KeptOperators kept_operators(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, const SplitModel& model,
                             const ModelTasks& tasks, const ir::Symbols::Valuation& sizes);

}  // namespace xflow::parallel
