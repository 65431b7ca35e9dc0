// Decides rules for all shapes that their guards admit (docs/proofs.md says what a proof means).
//
//   auto rules = xflow::RuleSet::read({"my.rules"});
//   auto decisions = xflow::verify(*rules);
//   for (const auto& d : *decisions) print(d.rule, xflow::to_string(d.verdict));
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/rules.h>
#include <xflow/time.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xflow {

enum class Verdict : std::uint8_t {
  proved,     // the only verdict that lets a rule be applied
  refuted,    // a counterexample was found and evaluated exactly
  unknown,    // not proved
  ill_typed,  // no shape satisfies the source, or the target does not type whatever the sizes are
  timeout,    // the step limit or the time limit was reached; not proved
};
XFLOW_API const char* to_string(Verdict verdict);

// Sizes and entries on which the two sides of a rule differ.
struct Counterexample {
  struct Tensor {
    std::string name;
    std::optional<std::vector<std::int64_t>> shape;  // nothing for a real number
    std::string value;                               // "[[1, 1/2], [0, 1]]", row-major, exact
  };
  std::string summary;                                         // one short line
  std::string text;                                            // all of it, for replay_counterexample
  std::string choice;                                          // of what the rule leaves open: "B: 2 dimensions"; empty if nothing is open
  std::vector<std::pair<std::string, std::int64_t>> integers;  // dimensions and attribute variables
  std::vector<Tensor> tensors;
  std::string output;               // empty: the target has no type there
  std::vector<std::int64_t> index;  // of the element that differs
  std::string source_value;         // exact
  std::string target_value;
};

struct RuleDecision {
  std::string rule;
  Verdict verdict = Verdict::unknown;
  Seconds time{};                           // of the processor; information, no part of a verdict
  std::size_t instances = 0;                // of what the rule leaves open, decided or replayed
  std::string choice;                       // of the instance that decided a verdict other than proved
  std::string open;                         // unknown, ill_typed, timeout: what stayed open, in index notation
  std::vector<std::string> needed_guards;   // of a proved rule: those without which it is not proved
  std::vector<std::string> missing_guards;  // of an unknown one: those with which it is proved
  std::optional<Counterexample> counterexample;
};

struct VerifyOptions {
  std::optional<Seconds> max_time;  // for each rule; its verdict is then `timeout`
  int jobs = 1;                     // rules decided at a time, which changes no verdict
};

// In the order of the rules. A rule that has a record of its proof (RuleSet::Records::read) is replayed and not decided again. Errors:
// invalid_argument (options).
XFLOW_API Result<std::vector<RuleDecision>> verify(const RuleSet& rules, const VerifyOptions& options = {});

struct Explanation {
  bool proved = false;
  std::string text;  // what both sides compute, why that is equal, what it assumes; or the counterexample
};
// The functions below take a set of one rule. Error::invalid_argument for another number of rules.
XFLOW_API Result<Explanation> explain(const RuleSet& rule, const VerifyOptions& options = {});

struct InferredGuards {
  bool proved = false;  // with these guards
  std::string text;     // what was found, for people
  RuleSet rule;         // with the guards, where it is proved
};
// The weakest guards, of a small vocabulary, under which a rule is proved; its own are dropped and inferred again.
XFLOW_API Result<InferredGuards> infer_guards(const RuleSet& rule, const VerifyOptions& options = {});

struct ReplayedCounterexample {
  bool different = false;  // the sides differ, or the target has no type
  std::string text;        // "output y at [0, 1]: source 7, target 10"
};
// Evaluates both sides of a rule, exactly, on a counterexample: its text, such as "x = 0; z = [[1, 2]]". Errors: syntax, invalid_argument
// (a name that the rule does not have, a missing value, a shape that does not fit, a guard that does not hold).
XFLOW_API Result<ReplayedCounterexample> replay_counterexample(const RuleSet& rule, const std::string& text);

}  // namespace xflow
