// The components of a proof, connected.
#pragma once

#include "src/verifier/algebra/scalar.h"
#include "src/verifier/faults.h"
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
                [this](const std::vector<NormalTerm>& terms, const Condition& context) { return scalar.zero(terms, context); }) {
    scalar.set_matcher(matcher);
    for (const Atom& a : solved.facts) solver.assume(a);
    normalizer.set_deadline(options.deadline);
    algebra.set_deadline(options.deadline);
    for (const rules::ValueFact& f : instance.value_facts) {
      if (f.kind != rules::ValueFact::Kind::in_range) continue;
      ir::Symbols& symbols = instance.arena->symbols();
      solver.assume_elements(tensor_number(f.value),
                             {symbols.substitute(f.low, solved.solved), symbols.substitute(f.end, solved.solved), true, {}, {}, {}});
    }
    assume_unsigned(instance);
  }

  // Elements of an unsigned variable are not negative, also where they are indices.
  void assume_unsigned(const rules::RuleInstance& instance) {
    constexpr int kMostBits = 32;
    for (const ir::ValueId v : instance.variables) {
      const ir::DataType type = instance.arena->type(v).data_type;
      if (!ir::is_integer(type) || ir::bits(type) > kMostBits) continue;
      const bool is_unsigned = ir::is_unsigned(type) || broken(Fault::algebra_integers_are_unsigned);
      if (!is_unsigned) continue;
      solver.assume_elements(tensor_number(v), {Poly(0), Poly(std::int64_t{1} << ir::bits(type)), true, {}, {}, {}});
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
