// Whether proved rules say that two small graphs are equal.
//
// Both graphs are put into an e-graph, and rules are applied to it, both ways where the names of the other side are bound, for a few
// rounds, in each what makes the smallest terms first. A rule is applied where the production matcher applies it to the concrete graph that
// was found, with its declared types and guards; guards that only say where a rule pays (const, finite, uses) are left out. A rule of
// several outputs is used as one equation for each of them, and as a whole where all its outputs are found; but two graphs of one output
// are first looked at without such rules, which make many terms.
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

// What is asked of an equation: whether its sides are equal; whether its source can be rewritten into its target, whose terms are not there
// from the start; or into that or another graph that costs no more (cheapest.h).
enum class Goal : std::uint8_t { equal, rewrite, rewrite_as_cheap };
// What has to be so of a candidate that says nothing new: as equations, those of several outputs are several of one.
inline Goal goal_of(std::size_t outputs) { return outputs > 1 ? Goal::rewrite_as_cheap : Goal::equal; }

struct DeriveLimits {
  std::size_t rounds = 5;
  std::size_t terms = 1500;
  // Terms at which operations of patterns are tried, in all rounds together.
  std::size_t tries = std::size_t{1} << 19;
};

class Deriver {
 public:
  Deriver();
  ~Deriver();

  Vocabulary& vocabulary() { return vocabulary_; }
  // Its number. Error::unsupported where neither side can be found in a graph.
  // `as_written`: from source to target alone, all outputs at once, as a search applies it.
  Result<std::size_t> add(const rules::Rule& rule, bool as_written = false);
  std::size_t size() const { return rules_.size(); }
  const std::string& name(std::size_t rule) const { return rules_[rule].name; }
  void enable(std::size_t rule, bool enabled) { rules_[rule].enabled = enabled; }
  // Whether rules that the caller calls special are used; they are at first.
  void use_special(bool use) { use_special_ = use; }
  void set_special(std::size_t rule, bool special) { rules_[rule].special = special; }
  bool is_special(std::size_t rule) const { return rules_[rule].special; }

  struct Step {
    std::size_t rule = 0;
    std::string from;  // as terms over the inputs x1, x2, ...
    std::string to;
  };
  struct Answer {
    bool derived = false;
    bool complete = false;  // not derived, and nothing more can be applied: more rounds would not help
    std::size_t terms = 0;
    std::vector<std::size_t> rules;  // used, each once, where it was derived
    std::vector<Step> steps;         // the derivation, if it was asked for; none where another graph that is as cheap was found
  };
  Answer derive(const FlatEquation& equation, const DeriveLimits& limits, Goal goal = Goal::equal, bool with_steps = false) {
    return derive(equation, limits, goal, with_steps ? Wanted::steps : Wanted::rules);
  }
  // Whether it is derived, alone.
  bool derives(const FlatEquation& equation, const DeriveLimits& limits, Goal goal = Goal::equal) {
    return derive(equation, limits, goal, Wanted::verdict).derived;
  }

 private:
  enum class Wanted : std::uint8_t { verdict, rules, steps };
  Answer derive(const FlatEquation& equation, const DeriveLimits& limits, Goal goal, Wanted wanted);
  struct Direction;
  // An operand of the first root of a direction that is an operation.
  struct Below {
    std::size_t operand = 0;
    std::uint64_t operator_bit = 0;
    friend bool operator==(const Below&, const Below&) = default;
  };
  // The directions of which the first root is an operation of one operator.
  struct Root {
    std::vector<std::vector<Below>> groups;  // what some have in common
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
    bool has_pair = false;  // of outputs
  };
  struct Match;
  struct Operators;
  struct TreeSize;
  class Finder;
  class Derivation;
  class TargetBuilder;

  void add_direction(std::size_t rule, const rules::Rule& direction);
  // Pairs of equal terms of which a match takes one for the other.
  std::vector<std::pair<TermId, TermId>> premises(const Direction& direction, const EGraph& graph, const Match& match) const;
  // What a direction makes of a graph that it matches: over the variables of its pattern. Null where it does not apply.
  const FlatGraph* target_of(const Direction& direction, const EGraph& graph, const Match& match);

  static constexpr std::size_t kMostTargets = std::size_t{1} << 16;

  Vocabulary vocabulary_;
  std::vector<Entry> rules_;
  std::size_t targets_ = 0;  // that directions remember
  bool use_special_ = true;
  std::vector<std::unique_ptr<Direction>> directions_;
  std::unordered_map<std::uint16_t, Root> by_root_;  // by operator
  // Of one derivation.
  std::vector<std::byte> first_memory_;
  std::pmr::monotonic_buffer_resource memory_;
};

}  // namespace xflow::generator
