// The parts of the method, wired together.
#pragma once

#include "src/verifier/algebra/scalar.h"
#include "src/verifier/proof/compose.h"
#include "src/verifier/proof/matcher.h"
#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

class Proof::Engine {
 public:
  Engine(rules::RuleInstance& instance, const SolvedFacts& solved, const Options& options)
      : solver(instance.arena->symbols(), options.z3_rlimit, options.deadline),
        algebra(instance.arena->symbols(), instance.value_facts),
        signs(instance.arena->symbols(), solved.facts),
        normalizer(algebra, solver, solved.facts, options.steps),
        composer(algebra, *instance.arena, solved.solved),
        checker(solver, algebra, instance.arena->symbols()),
        scalar(normalizer, checker),
        matcher(normalizer, checker,
                [this](const std::vector<Term>& terms, const Condition& context) { return scalar.zero(terms, context); }) {
    scalar.set_matcher(matcher);
    for (const Atom& a : solved.facts) solver.assume(a);
    normalizer.set_deadline(options.deadline);
    for (const rules::ValueFact& f : instance.value_facts) {
      if (f.kind != rules::ValueFact::Kind::in_range) continue;
      ir::Symbols& symbols = instance.arena->symbols();
      solver.assume_elements(tensor_number(f.value),
                             {symbols.substitute(f.low, solved.solved), symbols.substitute(f.end, solved.solved), true, {}, {}, {}});
    }
  }

  Solver solver;
  Algebra algebra;
  KnownSigns signs;
  Normalizer normalizer;
  Composer composer;
  Checker checker;
  ScalarProver scalar;
  Matcher matcher;
};

}  // namespace xflow::verifier
