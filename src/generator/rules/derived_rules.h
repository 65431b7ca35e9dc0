// Which rules of a set the others derive.
//
// As equations: rules are used both ways, and a rule that is another one read backwards is derived by it. A rule that holds for some
// elements of tensors alone (nonzero(x)) is not used, because what follows from it would hold for those alone.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/generator/rules/rule_goal.h"

namespace xflow::generator {

// Rules, each both a goal and a means. Rules are known by their number in the set.
class RuleSetDeriver {
 public:
  explicit RuleSetDeriver(std::span<const rules::Rule> rules, std::size_t goals = kMostGoals);

  std::size_t size() const { return rules_.size(); }
  // Why a rule is no goal; null where it is one.
  const Error* not_a_goal(std::size_t rule) const { return entries_[rule].goals ? nullptr : &entries_[rule].goals.error(); }
  const std::vector<RuleGoal>& goals(std::size_t rule) const { return *entries_[rule].goals; }
  void enable(std::size_t rule, bool enabled);
  // Whether the enabled rules derive one, which is left out. Requires that it is a goal. `rules` of the answer are numbers in the set.
  RuleDerivation derive(std::size_t rule, const DeriveLimits& limits, Goal goal = Goal::equal, bool with_steps = false);
  Vocabulary& vocabulary() { return deriver_.vocabulary(); }

 private:
  struct Entry {
    Result<std::vector<RuleGoal>> goals = std::vector<RuleGoal>();
    std::optional<std::size_t> number;  // in the deriver; nothing where it is not used
    bool enabled = true;
  };
  std::span<const rules::Rule> rules_;
  Deriver deriver_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> rule_of_;  // by number in the deriver
};

struct MinimalRules {
  struct Removed {
    std::size_t rule = 0;
    std::vector<std::size_t> by;  // rules that are kept; empty: both of its sides are one graph
  };
  std::vector<std::size_t> kept;      // in the order of the set
  std::vector<Removed> removed;       // in the order of the set
  std::vector<std::size_t> no_goals;  // of those that are kept: see RuleSetDeriver::not_a_goal
};

// Takes the rules from small to large, by the operations of both sides, and keeps what those kept before do not derive; then removes, from
// large to small, what the others derive as long as what was removed before stays derived. What is removed is derived by what is kept
// within the limits. `progress` is told how many rules of how many were looked at.
MinimalRules minimize(RuleSetDeriver& deriver, std::span<const rules::Rule> rules, const DeriveLimits& limits,
                      const std::function<void(std::size_t, std::size_t)>& progress = {});

// Operations of one side that are no constants: literals and operators without operands.
std::size_t operations(const std::vector<rules::Statement>& side);

}  // namespace xflow::generator
