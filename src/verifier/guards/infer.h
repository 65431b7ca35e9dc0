// Infers the guards of a rule: the weakest guards of a small vocabulary under which the rule is proved.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/proof/decide.h"

namespace xflow::verifier {

struct InferredGuard {
  rules::Guard guard;
  // A counterexample to the rule without this guard and with all others. nullopt: the rule is not proved
  // without the guard, but no counterexample was found.
  std::optional<Counterexample> without;
};

struct Inference {
  bool proved = false;                // with the guards below
  std::vector<InferredGuard> guards;  // in the order of the vocabulary
  std::vector<rules::Guard> kept;     // guards of the rule that were not tested: on ranks and on values of tensors
  rules::Rule rule;                   // with all guards
  std::string open;                   // if not proved: why
  std::uint64_t samples = 0;          // sizes on which the two sides were compared
  std::uint64_t decisions = 0;        // decided rules
};

// Drops the relations among the rule's guards (except those on ranks) and infers guards in their place.
//
// The vocabulary: what the typing of the target demands; equal dimensions of outputs; equal attributes;
// attribute = constant; equal dimensions, dimension = 1, dimension = attribute; divisibility and parity;
// ranges of attributes; and the dropped guards. The two sides are compared on many sizes. The search selects
// guards that exclude all sizes on which the sides differ, and as few of the other sizes as possible. A set
// of guards that does not suffice gives a counterexample, which is added to the sizes. A proved set is then
// weakened: a guard is dropped, or replaced by one that admits more, as long as the rule stays proved.
// Deterministic, bounded by counts.
//
// Errors: those of instantiation.
Result<Inference> infer_guards(const rules::Rule& rule, const Options& options = {});

// The weakest guards found on the values of tensors (nonzero, nonnegative or positive; of one variable, or
// one kind for several) under which an unknown rule is proved. Empty if none are found, and for rules with
// many variables.
std::vector<rules::Guard> missing_value_guards(const rules::Rule& rule, const Options& options = {});

// Prints the inference as text that ends with a newline.
std::string to_string(const Inference& inference);

}  // namespace xflow::verifier
