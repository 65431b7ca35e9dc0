// Decides rules for all shapes that their guards admit.
#pragma once

#include <xflow/error.h>
#include <xflow/verify.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/rules/instance.h"
#include "src/verifier/algebra/normal.h"
#include "src/verifier/deadline.h"

namespace xflow::verifier {

// The verdict on a rule. Only a proved rule may be applied.
using xflow::Verdict;
const char* name(Verdict verdict);

// Concrete shapes and entries on which the two sides differ.
struct Counterexample {
  std::vector<std::pair<std::string, std::int64_t>> integers;    // dimensions and attribute variables
  std::vector<std::pair<std::string, std::int64_t>> attributes;  // the entries of `integers` that are not dimensions
  std::vector<std::pair<std::string, std::string>> tensors;      // variable -> "[[1, 2], [0, 1]]", row-major; a real variable -> "5/2"
  std::vector<std::vector<std::int64_t>> shapes;                 // of the first tensors, in their order
  std::string choice;                                            // of the instance: "B: 2 dimensions"; empty if nothing was open
  std::string output_name;                                       // empty if only its number is known
  int output = 0;
  std::vector<std::int64_t> index;
  std::string source_value;  // exact
  std::string target_value;
  // The complete counterexample, as replay_counterexample() reads it:
  // "N = 1, C = 2; x = [[1, 0]]; output y at [0, 1]: 7 != 10".
  std::string to_string() const;
  // One short line: "x: [1, 2] s = 2, output y at [0, 1]: 7 != 10".
  std::string summary() const;
};

struct Decision {
  Verdict verdict = Verdict::unknown;
  std::optional<Counterexample> counterexample;
  std::string open;  // for unknown, ill_typed, timeout: what remained open, in readable index notation
  // For readers, if requested by the options: the normal forms, and how the terms of source - target cancel,
  // output by output.
  std::string normal_source;
  std::string normal_target;
  std::string certificate;
  // What a record stores of a proof, if requested by the options: the certificate of each output, and the
  // solver questions on the way to the normal forms that hold (see Solver::note_answers).
  std::vector<std::string> certificates;
  std::vector<std::size_t> shown;
  std::vector<std::size_t> given;  // demands of the source that are facts of the proof, by number
  std::uint64_t steps = 0;
};

struct Options {
  std::uint64_t z3_rlimit = 20'000'000;  // resource units of one query (1,000,000 are about 0.1 s)
  std::uint64_t steps = 2'000'000;       // rewriting steps of the normaliser and matcher
  std::uint64_t seed = 1;                // of concrete evaluation
  bool shrink = true;                    // minimise counterexamples; off where only verdicts matter
  // On: no proof is tried if direct evaluation refutes the rule. Off: both are done, and a rule that is
  // proved and refuted is unknown, with the advice to report it.
  bool refute_first = false;
  bool record = false;        // store certificates in the form of records
  bool normal_forms = false;  // store normal forms as text
  // A safety net: the decision of a rule that takes longer is a timeout, which is never recorded. 0: no
  // limit.
  std::chrono::duration<double> timeout{0};
  Deadline deadline = {};  // of the current decision
  // Whether terms that a proof leaves over sum to 0 where the condition holds. For callers who know the
  // elements of variables; what they answer is not checked. Null: they do not, as for all rules.
  std::function<bool(const std::vector<NormalTerm>&, const Condition&)> vanishes = {};

  // These options with the deadline that the timeout gives from now on. A deadline that is already set is
  // kept.
  Options started() const;
};

// True if the deadline is set and over.
inline bool is_over(const Deadline& deadline) { return deadline.is_over(); }

// Decides one instance. Deterministic: depends only on the instance and the options. The verdict proved also
// requires agreement with direct exact evaluation on at least 8 concrete shapes, or, if fewer shapes satisfy
// the facts, on all that can be evaluated.
Decision decide(rules::RuleInstance& instance, const Options& options = {});

}  // namespace xflow::verifier
