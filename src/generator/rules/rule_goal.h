// Turns a rule into goals for the deriver: its claim on tensors of known sizes.
//
// A rule has instances (src/rules/instantiate.h), and an instance holds for all sizes that satisfy its
// facts. A goal is one instance at one choice of sizes. Sizes that are accidentally equal or 1 would let
// rules apply that do not apply in general. Several choices are therefore tried, and the ones with the
// fewest accidental agreements of different dimensions and attributes are used.
#pragma once

#include <xflow/error.h>

#include <string>
#include <vector>

#include "src/egraph/vocabulary.h"
#include "src/generator/rules/derive.h"
#include "src/rules/rule.h"

namespace xflow::generator {

struct RuleGoal {
  FlatEquation equation;
  std::vector<std::string> names;  // of the equation's inputs
  std::string choice;              // the instance's choice: "B: 2 dimensions"; empty if the rule has no choices

  // The inputs with their shapes: "x: [5, 7], a: [7, 11]".
  std::string inputs_text(const Vocabulary& vocabulary) const;
};

// The maximum number of goals of a rule. A rule with more instances has goals for the typical instance and
// for others that are evenly spread.
inline constexpr std::size_t kMostGoals = 12;

// Returns at least one goal. Instances without suitable sizes are skipped. A rule of pointwise operators has
// one goal on tensors of one shape; if it has several variables, it also has one goal per variable in which
// that variable is broadcast.
// Error::unsupported for rules that derivations do not cover: data other than float32, lists of operands,
// absent operands, constants that are not one number. Other errors are those of rules::for_each_instance.
Result<std::vector<RuleGoal>> goals_of(Vocabulary& vocabulary, const rules::Rule& rule, std::size_t most = kMostGoals);

// The result of deriving all goals of a rule.
struct RuleDerivation {
  bool derived = true;
  std::vector<Deriver::Answer> answers;  // by goal, up to the first that is not derived
  std::vector<std::size_t> rules;        // used rules, in ascending order
};
RuleDerivation derive(Deriver& deriver, const std::vector<RuleGoal>& goals, const DeriveLimits& limits, Goal goal = Goal::equal,
                      bool with_steps = false);

}  // namespace xflow::generator
