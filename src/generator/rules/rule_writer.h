// Writes candidates as rules, from the most general form to the form for the enumerated ranks.
#pragma once

#include <string>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"

namespace xflow::generator {

struct WrittenRule {
  rules::Rule rule;     // before the type check
  EqualUnknowns equal;  // dimensions that the rule identifies
};

// Writes the forms of one rule `name`, most general first. A form may be false or ill-formed; the caller
// must have it proved. The comment of a form is the equation. The forms are:
// - pointwise rules: shapes are open;
// - rules that move data along axes: the rank and the axes are open;
// - matrices: each has its own batch, then all have one, then none has;
// - convolutions: windows, strides, dilations, pads and groups are open, then groups are 1, then windows are
//   as enumerated with open strides and groups, then all attributes are as enumerated.
//
// The last forms of matrix rules identify two dimensions that were enumerated with one size, then all such
// dimensions.
//
// `small_ranks`: writes the same forms for tensors of few dimensions only, whose proofs take a fraction of
// the time. `why`: set to the reason why the first form that cannot be written cannot.
std::vector<WrittenRule> write_rule(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                    bool small_ranks = false, std::string* why = nullptr);

// The name of a rule from the operators of its source: "concat-of-relu-and-relu".
std::string name_of(const GraphSignature& signature, const RuleCandidate& candidate);

}  // namespace xflow::generator
