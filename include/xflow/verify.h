// Decides rules for all shapes that their guards admit. docs/proofs.md says what a proof means.
//
//   auto rules = xflow::RuleSet::read({"my.rules"});
//   auto decisions = xflow::verify(*rules);
//   for (const auto& d : *decisions) print(d.rule, xflow::to_string(d.verdict));
#pragma once

#include <xflow/cancel.h>
#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/rules.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

// What was decided of a rule, or of two models.
enum class Verdict : std::uint8_t {
  proved,     // both sides agree for all shapes; only such rules are applied
  refuted,    // a counterexample was found and evaluated exactly
  unknown,    // neither a proof nor a counterexample was found
  ill_typed,  // the source has no type for any sizes, or the target has none
  timeout,    // the step limit or the time limit was reached, or the call was cancelled
};
// "proved", "refuted", "unknown", "ill-typed", "timeout".
XFLOW_API const char* to_string(Verdict verdict);

// Sizes and entries on which the two sides of a rule differ.
struct Counterexample {
  // The value of a variable.
  struct Tensor {
    std::string name;                                // of the variable
    std::optional<std::vector<std::int64_t>> shape;  // empty for a real number
    std::string value;                               // "[[1, 1/2], [0, 1]]", row-major, exact
  };
  std::string summary;  // one short line
  std::string text;     // the whole counterexample, for replay_counterexample
  std::string choice;   // instance of the rule: "B: 2 dimensions"; may be empty
  // Dimensions and attribute variables.
  std::vector<std::pair<std::string, std::int64_t>> integers;
  std::vector<Tensor> tensors;      // the tensors and real numbers
  std::string output;               // the output that differs; empty if the target has no type
  std::vector<std::int64_t> index;  // position of the element that differs
  std::string source_value;         // exact value of this element in the source
  std::string target_value;         // exact value of this element in the target
};

// The decision of a rule.
struct RuleDecision {
  std::string rule;                              // its name
  Verdict verdict = Verdict::unknown;            // for all instances
  Seconds time{};                                // processor time; it has no influence on the verdict
  std::size_t instances = 0;                     // instances (open choices of the rule) that were decided or replayed
  std::string choice;                            // the instance that decided a verdict other than proved
  std::string open;                              // unknown, ill_typed, timeout: the open question, in index notation
  std::vector<std::string> needed_guards;        // proved: guards without which the rule is not proved
  std::vector<std::string> missing_guards;       // unknown: guards with which the rule is proved
  std::optional<Counterexample> counterexample;  // refuted: of the instance `choice`
};

// The options of verify.
struct VerifyOptions {
  std::optional<Seconds> max_time;  // for each rule, positive; the verdict at the limit is `timeout`
  int jobs = 1;                     // number of rules decided at a time; it changes no verdict
  // Cancels the call from another thread or a signal handler. finish() acts as the time limit of all rules:
  // those not decided by then have the verdict `timeout`, with RuleDecision::open "cancelled". stop()
  // returns ErrorCode::limit, "cancelled". A query that Z3 is working on is completed first, which takes
  // seconds at most.
  CancellationToken cancel = {};
  // Called from the calling thread after each of its rules, with the number of rules decided so far and of
  // all that have to be decided. Null: never.
  std::function<void(std::size_t, std::size_t)> progress = {};
};

// Decides all rules; the decisions are in the order of the rules. A rule with a record of its proof
// (RuleSet::Records::read) is replayed instead. Errors: invalid_argument (an option), limit ("cancelled"
// after CancellationToken::stop()).
XFLOW_API Result<std::vector<RuleDecision>> verify(const RuleSet& rules, const VerifyOptions& options = {});

// The result of explain.
struct Explanation {
  bool proved = false;  // whether the rule is proved
  std::string text;     // what both sides compute, why they are equal, the assumptions; or the counterexample
};
// Explains the decision of a rule. Like the functions below, it takes a set of one rule. Errors:
// invalid_argument (another number of rules, an option), limit ("cancelled").
XFLOW_API Result<Explanation> explain(const RuleSet& rule, const VerifyOptions& options = {});

// The result of infer_guards.
struct InferredGuards {
  bool proved = false;  // whether the rule is proved with the inferred guards
  std::string text;     // the result for people
  RuleSet rule;         // the rule with the guards, if it is proved
};
// Infers the weakest guards, of a small vocabulary, under which a rule is proved. The rule's own guards are
// dropped first. Errors: invalid_argument (another number of rules, an option), limit ("cancelled").
XFLOW_API Result<InferredGuards> infer_guards(const RuleSet& rule, const VerifyOptions& options = {});

// The result of replay_counterexample.
struct ReplayedCounterexample {
  bool different = false;  // the sides differ, or the target has no type
  std::string text;        // "output y at [0, 1]: source 7, target 10"
};
// Evaluates both sides of a rule exactly on a counterexample, such as "x = 0; z = [[1, 2]]"
// (Counterexample::text). Errors: syntax; invalid_argument (another number of rules, an unknown name, a
// missing value, a shape that does not fit, a guard that does not hold).
XFLOW_API Result<ReplayedCounterexample> replay_counterexample(const RuleSet& rule, const std::string& text);

}  // namespace xflow
