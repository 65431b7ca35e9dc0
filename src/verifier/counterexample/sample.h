// Small concrete shapes that satisfy the facts of a rule instance, made without the typing of the proof.
#pragma once

#include <cstdint>
#include <vector>

#include "src/verifier/algebra/facts.h"
#include "src/verifier/counterexample/concrete.h"
#include "src/verifier/proof/solver.h"

namespace xflow::verifier {

class Sampler {
 public:
  Sampler(const rules::RuleInstance& instance, const Concrete& concrete, std::uint64_t seed, std::uint64_t resource_limit,
          const Deadline& deadline = {});

  // Up to `wanted` different assignments: random ones repaired by the facts that are equations, and where the facts are too tight for that,
  // models that Z3 finds under random pins. Small sizes come first.
  std::vector<Assignment> assignments(std::size_t wanted);
  // The same by chance alone, in a few rounds.
  std::vector<Assignment> quick_assignments(std::size_t wanted);
  // Up to `wanted` more, different from those given: made by solving the facts for some symbols and drawing the others, then models of Z3
  // that differ from all others in a symbol drawn at random. Makes symbols.
  std::vector<Assignment> others(const std::vector<Assignment>& known, std::size_t wanted);
  // True only if no other assignment satisfies the facts.
  bool are_all(const std::vector<Assignment>& known);
  // An assignment that satisfies the facts and also `condition`, which may speak of other symbols too; nothing where none is found.
  std::optional<Assignment> satisfying(const ops::Condition& condition);
  // True if all facts hold and no tensor of the source is empty (facts about elements of tensors are not asked).
  bool satisfies_facts(const Assignment& assignment) const;

 private:
  Assignment random_assignment(std::int64_t largest);
  void repair(Assignment& assignment, const std::vector<ops::Atom>& facts);
  void draw_reals(Assignment& assignment);
  std::optional<Assignment> model(ops::Condition extra, std::int64_t largest, bool pins);
  bool about_elements(const ops::Atom& atom) const;
  bool says_something(const Assignment& assignment) const;
  std::optional<Assignment> constructed(const SolvedFacts& solved, std::int64_t largest);

  const rules::RuleInstance& instance_;
  const Concrete& concrete_;
  std::uint64_t state_;
  std::uint64_t next_random();
  bool time_is_up() const;
  Deadline deadline_;
  Solver solver_;
};

}  // namespace xflow::verifier
