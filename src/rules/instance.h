// A rule at one choice of ranks: what the verifier decides.
//
// A rule text may leave ranks, axes and permutations open. Instantiating it for one choice of them gives two ordinary graphs of the IR
// whose dimensions and integer attributes are polynomials over the rule's variables. The verifier needs nothing else of a rule.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/graph.h"
#include "src/ops/expr.h"

namespace xflow::rules {

// A relation between integer polynomials over the dimensions and attribute variables of a rule.
struct Fact {
  ops::Atom atom;
  std::string reason;  // for explanations: "guard outer(a) = outer(b)", "typing of conv: the number of input channels"
};

// What is known of every element of a variable.
struct ValueFact {
  enum class Kind { nonzero, positive, nonnegative, in_range };
  ir::ValueId value;
  Kind kind;
  ir::Poly low = {};  // in_range: low <= element < end
  ir::Poly end = {};
};

// An integer that an index or attribute needs and the rule assumes nothing about beyond its facts.
struct RuleInstance {
  std::unique_ptr<ir::Arena> arena;
  std::vector<ir::ValueId> variables;       // inputs of both graphs, in the order of the rule
  std::vector<std::string> variable_names;  // of the same length
  ir::Graph source;                         // outputs pairwise: source.outputs[i] = target.outputs[i] is claimed
  ir::Graph target;
  std::vector<std::string> output_names;  // of both graphs' outputs; empty where they have none
  std::vector<Fact> facts;                // given: the guards, and what the typing of the source implies
  std::vector<Fact> obligations;          // to be proved from the facts: the typing of the target, equality of output shapes
  std::vector<ValueFact> value_facts;     // given
  std::string choice;                     // "B: 2 dimensions, axis = 1"; empty for a rule that leaves nothing open
  // Names of the rule that stand nowhere in the above, since an equation or a choice of broadcasting gives their value: x.0 -> 1.
  std::vector<std::pair<ir::SymbolId, ir::Poly>> replaced;
};

}  // namespace xflow::rules
