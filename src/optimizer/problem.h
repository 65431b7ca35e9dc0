// The graph that is optimised, in the IR, with everything that the stages need to know about it.
#pragma once

#include <xflow/error.h>
#include <xflow/optimize.h>

#include <functional>
#include <string>
#include <vector>

#include "src/ir/graph.h"
#include "src/optimizer/simplifications.h"
#include "src/rules/verified_rules.h"
#include "src/search/run_limits.h"
#include "src/validation/run_inputs.h"

namespace xflow::api {

class Session;

struct Problem {
  ir::Arena& arena;
  ir::Graph graph;
  std::vector<NamedInput> inputs;
  std::function<Result<void>(const ir::Arena&, ir::NodeId)> can_export = {};  // null: every node can be exported
  std::function<std::string(ir::ValueId)> name_of = {};                       // names a value of `graph` in reports
  std::function<std::string(ir::ValueId)> place_of = {};                      // where a value is computed: "node 'conv1' (Conv)"
  std::function<Result<ir::Constant>(ir::ValueId)> fold = {};                 // computes an expression of constants as it will be written
  const rules::VerifiedRules* rules = nullptr;                                // null: the rules of the options
  const RunInputs* runs = nullptr;                                            // null: seeded inputs at the first shapes of the options
  const RunLimits* limits = nullptr;                                          // null: no limits
  Session* session = nullptr;
};

}  // namespace xflow::api
