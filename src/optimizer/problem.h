// What is optimised, in the IR, and what belongs to it.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/optimizer/simplifications.h"
#include "src/rules/rule_set.h"
#include "src/search/run_limits.h"
#include "src/validation/run_inputs.h"

namespace xflow::api {

class Session;

struct Problem {
  ir::Arena& arena;
  ir::Graph graph;
  std::vector<NamedInput> inputs;
  std::function<Result<void>(const ir::Arena&, ir::NodeId)> can_export = {};  // null: everything can be written
  std::function<std::string(ir::ValueId)> name_of = {};                       // of a value of `graph`, in reports
  std::function<std::string(ir::ValueId)> place_of = {};                      // "node 'conv1' (Conv)": where it is computed
  std::function<Result<ir::Constant>(ir::ValueId)> fold = {};                 // an expression of constants, as it will be written
  const rules::VerifiedRules* rules = nullptr;                                // null: those of the options
  const RunInputs* runs = nullptr;                                            // null: at the first shapes of the options, seeded
  const RunLimits* limits = nullptr;                                          // null: none
  Session* session = nullptr;
};

}  // namespace xflow::api
