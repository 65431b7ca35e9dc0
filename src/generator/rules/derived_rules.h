// Finds the rules of a set that the other rules derive.
//
// Rules are equations here: they are used in both directions, and a rule derives its own reverse. A rule
// that holds only for some elements of tensors, such as nonzero(x), is not used, because its consequences
// would hold only for those elements.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/generator/rules/rule_goal.h"

namespace xflow::generator {

// Rules that are both goals and means of derivations. A rule is identified by its index in the set.
class RuleSetDeriver {
 public:
  explicit RuleSetDeriver(std::span<const rules::Rule> rules, std::size_t goals = kMostGoals);

  std::size_t size() const { return rules_.size(); }
  // The reason why a rule is not a goal; null if it is one.
  const Error* not_a_goal(std::size_t rule) const { return entries_[rule].goals ? nullptr : &entries_[rule].goals.error(); }
  const std::vector<RuleGoal>& goals(std::size_t rule) const { return *entries_[rule].goals; }
  void enable(std::size_t rule, bool enabled);
  // Whether the enabled rules without `rule` itself derive `rule`, which must be a goal. The rules of the
  // answer are indices in the set.
  RuleDerivation derive(std::size_t rule, const DeriveLimits& limits, Goal goal = Goal::equal, bool with_steps = false);
  Vocabulary& vocabulary() { return deriver_.vocabulary(); }

 private:
  struct Entry {
    Result<std::vector<RuleGoal>> goals = std::vector<RuleGoal>();
    std::optional<std::size_t> number;  // in the deriver; nothing if the rule is not used
    bool enabled = true;
  };
  std::span<const rules::Rule> rules_;
  Deriver deriver_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> rule_of_;  // index in the set, by number in the deriver
};

struct MinimalRules {
  struct Removed {
    std::size_t rule = 0;
    std::vector<std::size_t> by;  // kept rules that derive it; empty: both of its sides are the same graph
  };
  std::vector<std::size_t> kept;      // in the order of the set
  std::vector<Removed> removed;       // in the order of the set
  std::vector<std::size_t> no_goals;  // kept rules that are not goals: see RuleSetDeriver::not_a_goal
};

// First visits the rules by ascending number of operations of both sides, and keeps those that the rules
// kept before do not derive. Then visits the kept rules in descending order, and removes those that the
// others derive, as long as all rules removed before stay derived. The kept rules derive every removed rule
// within the limits. `progress` gets the number of visited rules and of all rules.
MinimalRules minimize(RuleSetDeriver& deriver, std::span<const rules::Rule> rules, const DeriveLimits& limits,
                      const std::function<void(std::size_t, std::size_t)>& progress = {});

// The number of operations of one side except constants, which are literals and operators without operands.
std::size_t operations(const std::vector<rules::Statement>& side);

}  // namespace xflow::generator
