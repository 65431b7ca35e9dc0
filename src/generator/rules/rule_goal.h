// What a rule claims, on tensors of known sizes: goals for the deriver.
//
// A rule stands for its instances (src/rules/instantiate.h), and an instance for all sizes that satisfy its facts. A goal is one instance
// at one choice of sizes. Sizes that happen to be equal, or 1, would let rules apply that do not apply in general, so of the sizes that
// were tried those are taken at which the fewest different dimensions and attributes agree.
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
  std::string choice;              // what the instance chose of the rule: "B: 2 dimensions"; empty where nothing was open

  // "x: [5, 7], a: [7, 11]".
  std::string inputs_text(const Vocabulary& vocabulary) const;
};

// Of a rule with more instances so many speak for it: the typical one first, then others evenly spread over all.
inline constexpr std::size_t kMostGoals = 12;

// At least one goal. Instances for which no sizes are found are passed over. A rule of pointwise operators has one goal on tensors of one
// shape and, for each of its variables if there are several, one in which that variable is broadcast.
// Error::unsupported for what derivations do not speak of: other data than float32, lists of operands, operands that are absent, constants
// that are not one number. Errors as rules::for_each_instance.
Result<std::vector<RuleGoal>> goals_of(Vocabulary& vocabulary, const rules::Rule& rule, std::size_t most = kMostGoals);

// Whether enabled rules derive all goals of a rule.
struct RuleDerivation {
  bool derived = true;
  std::vector<Deriver::Answer> answers;  // by goal, up to the first that is not derived
  std::vector<std::size_t> rules;        // that were used, in ascending order
};
RuleDerivation derive(Deriver& deriver, const std::vector<RuleGoal>& goals, const DeriveLimits& limits, Goal goal = Goal::equal,
                      bool with_steps = false);

}  // namespace xflow::generator
