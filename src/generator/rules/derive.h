// Decides whether proved rules derive the equality of two small graphs.
//
// Both graphs are added to an e-graph. Rules are applied to it for a few rounds, matches that make the
// smallest terms first. A rule is applied in both directions if the names of the other side are bound.
// A rule is applied where the production matcher applies it to the concrete graph that was found, with its
// declared types and guards. Guards that only say where a rule pays (const, finite, uses) are left out.
// A rule of several outputs is used as one equation per output, and as a whole where all its outputs are
// found. Equations of one output are first tried without the whole rules, because these make many terms.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/egraph/egraph.h"
#include "src/egraph/vocabulary.h"
#include "src/rules/pattern.h"
#include "src/rules/rule.h"

namespace xflow::generator {

// What is asked of an equation. equal: its sides are equal. rewrite: its source can be rewritten into its
// target, whose terms are not in the e-graph from the start. rewrite_as_cheap: its source can be rewritten
// into the target or another graph that costs no more (cheapest.h).
enum class Goal : std::uint8_t { equal, rewrite, rewrite_as_cheap };
// The goal that makes a candidate redundant. As an equation, a candidate of several outputs is just several
// candidates of one output.
inline Goal goal_of(std::size_t outputs) { return outputs > 1 ? Goal::rewrite_as_cheap : Goal::equal; }

struct DeriveLimits {
  std::size_t rounds = 5;
  std::size_t terms = 1500;
  // Terms that are tried for pattern operations, over all rounds.
  std::size_t tries = std::size_t{1} << 19;
};

class Deriver {
 public:
  Deriver();
  ~Deriver();

  Vocabulary& vocabulary() { return vocabulary_; }
  // Adds a rule and returns its number. Error::unsupported if neither side can be found in a graph.
  // `as_written`: use the rule only from source to target, with all outputs at once, as a search applies it.
  Result<std::size_t> add(const rules::Rule& rule, bool as_written = false);
  std::size_t size() const { return rules_.size(); }
  const std::string& name(std::size_t rule) const { return rules_[rule].name; }
  void enable(std::size_t rule, bool enabled) { rules_[rule].enabled = enabled; }
  // Sets whether special rules (set_special) are used; by default they are.
  void use_special(bool use) { use_special_ = use; }
  void set_special(std::size_t rule, bool special) { rules_[rule].special = special; }
  bool is_special(std::size_t rule) const { return rules_[rule].special; }

  struct Step {
    std::size_t rule = 0;
    std::string from;  // terms over the inputs x1, x2, ...
    std::string to;
  };
  struct Answer {
    bool derived = false;
    bool complete = false;  // not derived, and no rule applies any more: more rounds would not help
    std::size_t terms = 0;
    std::vector<std::size_t> rules;  // rules of the derivation, each once
    std::vector<Step> steps;         // the derivation, if requested; empty if another, equally cheap graph was found
  };
  Answer derive(const FlatEquation& equation, const DeriveLimits& limits, Goal goal = Goal::equal, bool with_steps = false) {
    return derive(equation, limits, goal, with_steps ? Wanted::steps : Wanted::rules);
  }
  // Returns only whether the equation is derived.
  bool derives(const FlatEquation& equation, const DeriveLimits& limits, Goal goal = Goal::equal) {
    return derive(equation, limits, goal, Wanted::verdict).derived;
  }

 private:
  enum class Wanted : std::uint8_t { verdict, rules, steps };
  Answer derive(const FlatEquation& equation, const DeriveLimits& limits, Goal goal, Wanted wanted);
  struct Direction;
  // An operand, which is an operation, of the first root of a direction.
  struct Below {
    std::size_t operand = 0;
    std::uint64_t operator_bit = 0;
    friend bool operator==(const Below&, const Below&) = default;
  };
  // The directions whose first root is an operation of one operator.
  struct Root {
    std::vector<std::vector<Below>> groups;  // operands that several directions have in common
    struct Member {
      std::uint32_t direction = 0;
      std::uint32_t group = 0;
    };
    std::vector<Member> members;
  };
  struct Entry {
    std::string name;
    bool enabled = true;
    bool special = false;
    bool has_pair = false;  // the rule has two outputs
  };
  struct Match;
  struct Operators;
  struct TreeSize;
  class Finder;
  class Derivation;
  class TargetBuilder;

  void add_direction(std::size_t rule, const rules::Rule& direction);
  // Pairs of equal terms that a match uses interchangeably.
  std::vector<std::pair<TermId, TermId>> premises(const Direction& direction, const EGraph& graph, const Match& match) const;
  // The target of a direction for a matched graph, over the variables of its pattern. Null if the direction
  // does not apply.
  const FlatGraph* target_of(const Direction& direction, const EGraph& graph, const Match& match);

  static constexpr std::size_t kMostTargets = std::size_t{1} << 16;

  Vocabulary vocabulary_;
  std::vector<Entry> rules_;
  std::size_t targets_ = 0;  // number of targets that directions cache
  bool use_special_ = true;
  std::vector<std::unique_ptr<Direction>> directions_;
  std::unordered_map<std::uint16_t, Root> by_root_;  // by operator of the root
  // Memory of one derivation.
  std::vector<std::byte> first_memory_;
  std::pmr::monotonic_buffer_resource memory_;
};

}  // namespace xflow::generator
