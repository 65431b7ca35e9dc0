// Small concrete shapes that satisfy the facts of a rule instance, found without the typing of the proof.
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

  // Returns up to `wanted` different assignments, small sizes first. Random assignments are repaired by the
  // facts that are equations. If the facts are too tight for that, Z3 finds models under random pins.
  std::vector<Assignment> assignments(std::size_t wanted);
  // Returns random, repaired assignments only, from a few rounds.
  std::vector<Assignment> quick_assignments(std::size_t wanted);
  // Returns up to `wanted` more assignments, different from `known`. First it solves the facts for some
  // symbols and draws the others; then it takes models of Z3 that differ from all others in a symbol drawn
  // at random. Makes symbols.
  std::vector<Assignment> others(const std::vector<Assignment>& known, std::size_t wanted);
  // True only if no other assignment satisfies the facts.
  bool are_all(const std::vector<Assignment>& known);
  // An assignment that satisfies the facts and `condition`, which may mention other symbols, too; nullopt if
  // none is found.
  std::optional<Assignment> satisfying(const ops::Condition& condition);
  // True if all facts hold and no source tensor is empty. Facts about elements of tensors are not checked.
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
