// The parts of a plan that splits operators, as a graph for each device and stage: what split models are
// made of (docs/run-plan.md).
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/parallel/kept_nodes.h"
#include "src/parallel/split_model.h"
#include "src/parallel/split_plan.h"

namespace xflow::parallel {

// An input of a part, or an output of the model.
struct PartInput {
  std::string name;
  std::optional<std::size_t> part;  // that has it as an output; nothing: an input of the model
  ir::ValueId value;                // in the graph of the part; of an output of the model in that of `part`
};

// Nodes of the document in a part. The graph of the part has their results as inputs.
struct PartNodes {
  const KeptNodes* nodes = nullptr;   // of ModelInterface::kept
  std::vector<ir::ValueId> operands;  // by KeptNodes::reads
  std::vector<ir::ValueId> results;   // by KeptNodes::results
};

// A graph without a wait in the middle.
struct PlanPart {
  std::uint32_t device = 0;
  std::vector<PartInput> inputs;  // sources have lower numbers
  ir::Graph graph;                // its outputs
  std::vector<std::string> outputs;
  std::vector<PartNodes> kept;  // operands before users
};

struct PlanParts {
  std::vector<PlanPart> parts;  // in an order in which they can run one after the other
  std::vector<PartInput> outputs;
};

// The names of the inputs of the model, and of its outputs with their values.
struct ModelInterface {
  std::unordered_map<ir::ValueId, std::string> inputs;
  std::vector<std::pair<std::string, ir::ValueId>> outputs;
  KeptOperators kept = {};        // that parts have as nodes of the document
  std::string prefix = "xflow_";  // of the names of what passes between parts; numbers follow
};

// Every operator has a possible plan. A stage is the largest number of changes of the device on a path to
// it. Parts of a reduction are added by a reduce-scatter and an all-gather: each device adds a part of the
// result and sends it to the others. Graphs are in the arena of the model. Operators that are kept have no
// splits but copies, and read and make all of a value. The interface must outlive the result.
//
// Errors: unsupported for an output of the model that nothing computes, for sizes that are not known, and
// for a tensor between parts whose type is not known; those of typing a part, which its proof excludes.
Result<PlanParts> parts_of(SplitModel& model, const SplitPlan& plan, const ModelInterface& interface);

}  // namespace xflow::parallel
