// A rule at one choice of ranks: the input of the verifier.
//
// A rule may leave ranks, axes and permutations open. One choice of them gives two ordinary graphs of the
// IR, whose dimensions and integer attributes are polynomials over the rule's variables. The verifier needs
// nothing else from a rule.
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

// A property of every element of a variable.
struct ValueFact {
  enum class Kind { nonzero, positive, nonnegative, in_range };
  ir::ValueId value;
  Kind kind;
  ir::Poly low = {};  // in_range: low <= element < end
  ir::Poly end = {};
};

// A rule at one choice of everything that it leaves open: the claim that `source` equals `target` under the
// facts.
struct RuleInstance {
  std::unique_ptr<ir::Arena> arena;
  std::vector<ir::ValueId> variables;       // inputs of both graphs, in the order of the rule
  std::vector<std::string> variable_names;  // of the same length
  ir::Graph source;                         // claim: source.outputs[k] = target.outputs[k] for every k
  ir::Graph target;
  std::vector<std::string> output_names;  // names of the outputs of both graphs; empty if they have none
  std::vector<Fact> facts;                // assumed: the guards and the requirements of the source's type rules
  std::vector<Fact> obligations;          // to be proved from the facts: the target's type rules, equality of output shapes
  std::vector<ValueFact> value_facts;     // assumed
  std::string choice;                     // "B: 2 dimensions, axis = 1"; empty for a rule that leaves nothing open
  // Symbols of the rule that an equation or a choice of broadcasting replaced by their value: x.0 -> 1. They
  // do not occur in the other members.
  std::vector<std::pair<ir::SymbolId, ir::Poly>> replaced;
};

}  // namespace xflow::rules
