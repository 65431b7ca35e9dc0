// Guards of a rule, found: the weakest of a small vocabulary under which it is proved.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/proof/verifier.h"

namespace xflow::verifier {

struct InferredGuard {
  rules::Guard guard;
  // Shows that the rule is wrong without this guard and with all others. Nothing: not proved without it, but no counterexample was found.
  std::optional<Counterexample> without;
};

struct Inference {
  bool proved = false;                // with the guards below
  std::vector<InferredGuard> guards;  // in the order of the vocabulary
  std::vector<rules::Guard> kept;     // guards of the rule that were not put to the test: on ranks and on values of tensors
  rules::Rule rule;                   // with all of them
  std::string open;                   // where it is not proved: why not
  std::uint64_t samples = 0;          // sizes on which the two sides were compared
  std::uint64_t decisions = 0;        // rules that were decided
};

// The relations among the rule's guards are dropped (but for those on ranks) and inferred again.
//
// The vocabulary: what the typing of the target asks for; equal dimensions of outputs; equal attributes; attribute = constant; equal
// dimensions, dimension = 1, dimension = attribute; divisibility and parity; ranges of attributes; and the guards that were dropped. Of
// many sizes on which the sides were compared, guards are looked for that exclude all on which they differ and as few as possible of the
// others; a set of guards that does not suffice gives a counterexample, which is one more such size. What is proved is then made weaker: a
// guard is dropped, or replaced by one that admits more, as long as the rule stays proved. Deterministic, bounded by counts.
//
// Errors: those of instantiation.
Result<Inference> infer_guards(const rules::Rule& rule, const Options& options = {});

// Guards on the values of tensors - nonzero, nonnegative or positive, of one variable, or one kind of several - under which a rule that is
// unknown is proved, the weakest that are found. Empty where none are, and for rules of many variables.
std::vector<rules::Guard> missing_value_guards(const rules::Rule& rule, const Options& options = {});

// What was found, as text that ends with a newline.
std::string to_string(const Inference& inference);

}  // namespace xflow::verifier
