// Candidates as rules, from the most general form to the one for exactly these ranks.
#pragma once

#include <string>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"

namespace xflow::generator {

struct WrittenRule {
  rules::Rule rule;     // before the type check
  EqualUnknowns equal;  // dimensions that it takes for one
};

// Forms of one rule `name`, most general first: any of them may be false or not well formed, and whoever takes one has it proved. Forms:
// pointwise rules leave shapes open; rules that move data along axes leave the rank and the axes open; matrices have batches of their own,
// then one in common, then none; convolutions leave windows, strides, dilations, pads and groups open, then groups are 1, then all is as
// it was enumerated. The comment gives the equation.
//
// Of matrices the last forms take two of the dimensions for equal that were enumerated with one size, then all.
//
// `small_ranks`: the same for tensors of few dimensions alone, which are proved in a fraction of the time. `why`: gets in words why the
// first form that cannot be written cannot.
std::vector<WrittenRule> write_rule(const GraphSignature& signature, const Candidate& candidate, const std::string& name,
                                    bool small_ranks = false, std::string* why = nullptr);

// A name for the rule from the operators of the source: "concat-of-relu-and-relu".
std::string name_of(const GraphSignature& signature, const Candidate& candidate);

}  // namespace xflow::generator
