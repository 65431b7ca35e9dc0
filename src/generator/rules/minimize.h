// Collects a small set of proved rules that derives all candidates.
#pragma once

#include <xflow/error.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/collect_tasks.h"
#include "src/generator/rules/derive.h"
#include "src/generator/rules/gain.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"
#include "src/support/acceptance.h"
#include "src/verifier/proof/decide.h"

namespace xflow::generator {

struct KeptRule {
  std::size_t signature = 0;  // the caller's number of the signature
  RuleCandidate candidate;    // in the direction of the rule
  std::string name;
  std::size_t variant = 0;  // the form, by index in the result of write_rule
  EqualUnknowns equal;      // dimensions that the rule identifies
  rules::Rule rule;
  FlatEquation equation;            // the equation as found
  std::size_t number = 0;           // rule number in the deriver
  bool needed = true;               // the other rules do not derive it
  bool proved = false;              // proved for all ranks that it admits
  bool pair = false;                // has two outputs
  bool special = false;             // has divisions, roots or exponentials, or drops an input
  Gain gain;                        // the directions that can reduce the cost
  std::optional<rules::Rule> back;  // the reverse rule, if it can reduce the cost and is proved
  // The rule and the reverse one, with guards that ask for constants, if they pay with these alone.
  std::optional<rules::Rule> folded;
  std::optional<rules::Rule> folded_back;
};

struct MinimizeCounts {
  std::uint64_t candidates = 0;
  std::uint64_t derived = 0;                            // derived by rules kept before
  std::uint64_t accidents = 0;                          // not derived, but the sides differ on more numbers
  std::uint64_t kept = 0;                               // proved, and not derived at the time of their visit
  std::uint64_t eliminated = 0;                         // kept rules that the final others derive
  std::map<verifier::Verdict, std::uint64_t> verdicts;  // of candidates that were not derived: verdict of the best form
  std::uint64_t follow_from_unproved = 0;               // candidates that are derived if all open rules are true
};

class RuleCollector {
 public:
  // Answers the questions of collect_tasks.h; result k answers question k.
  using Ask = std::function<Result<std::vector<tasks::Answer>>(const std::vector<tasks::Question>& questions)>;

  RuleCollector(const DeriveLimits& limits, const verifier::Options& options) : limits_(limits), options_(options) {}
  // Sends tasks to `ask`, `width` at a time. With a width of 1 nothing is sent. Changes no result.
  void share(Ask ask, std::size_t width) {
    ask_ = std::move(ask);
    width_ = width;
  }

  // Resets the counts of candidates before they are collected again.
  void reset_counts();
  // Keeps the candidates that the rules kept before do not derive, each in its most general form that is
  // proved for few dimensions. As an equation, a candidate of two outputs follows from two equations of one
  // output; as a rewrite it does not. Such a candidate is kept if the rules kept before rewrite its source
  // neither to the target nor to a graph that is as cheap.
  // First triages all candidates with the rules that exist at the call, then visits the open ones again in
  // their order. The result therefore depends on how candidates are divided among calls. `triages`: the
  // first triage of each candidate, if already known. Errors are those of Ask.
  Result<void> collect(const GraphSignature& signature, std::size_t signature_number, std::span<const RuleCandidate> candidates,
                       std::optional<std::string> triages = std::nullopt);
  // The rules that candidates are triaged with.
  std::vector<tasks::GivenRule> given_rules() const;
  // Removes rules that the others derive, in the reverse order of keeping: from the largest on.
  void eliminate();
  // Proves the needed rules for all ranks, and drops guards that they do not need. Returns false if a rule
  // needed another form or could not be proved; then the candidates that its old form derived must be
  // collected again.
  Result<bool> prove(const std::function<const GraphSignature&(const KeptRule&)>& signature_of);
  // Determines in which directions each rule can reduce the cost. Writes and proves the reverse rule if the
  // reverse direction can.
  Result<void> direct(const std::function<const GraphSignature&(const KeptRule&)>& signature_of);

  // save() returns everything collected as text, and restore() reads it into an empty collector. Neither
  // covers eliminated or proved rules.
  std::string save() const;
  Result<void> restore(const std::string& saved, std::span<const GraphSignature> signatures);

  const std::vector<KeptRule>& kept() const { return kept_; }
  const MinimizeCounts& counts() const { return counts_; }
  // A sample of the candidates that were not proved: text and verdict.
  const std::vector<std::string>& unproved() const { return unproved_; }
  Deriver& deriver() { return deriver_; }
  // The time that collecting has waited for proofs.
  std::chrono::duration<double> proving() const { return proving_; }

 private:
  // `special`: also use rules of class special.
  bool derives(const FlatEquation& equation, Goal goal, bool special);
  std::vector<std::size_t> unproved_rules() const;
  // Evaluates a candidate on numbers of other seeds and at both assignments of sizes. Some operations see
  // only the signs of a few elements, which makes accidental agreement likely.
  bool holds_on_more_numbers(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate);
  // Counts a triage. Returns false if it is open.
  bool count(Triage triage);
  void keep(const GraphSignature& signature, std::size_t signature_number, const RuleCandidate& candidate,
            std::vector<TriedGeneralisation> forms);
  // Calls try_generalisations and adds its time to proving().
  std::vector<TriedGeneralisation> tried_generalisations(const GraphSignature& signature, const RuleCandidate& candidate,
                                                         std::size_t begin);
  // Keeps a form that is proved for few dimensions, if it can be kept.
  Acceptance try_to_keep(const GraphSignature& signature, KeptRule kept, bool is_guarded);
  void unproved(const GraphSignature& signature, const RuleCandidate& candidate, verifier::Verdict verdict, const std::string& text);

  Deriver deriver_;
  DeriveLimits limits_;
  verifier::Options options_;
  Ask ask_;
  std::size_t width_ = 1;
  std::vector<KeptRule> kept_;
  std::map<std::string, int> names_;
  std::map<std::size_t, std::vector<Evaluator>> evaluators_;  // by number of the signature
  MinimizeCounts counts_;
  std::vector<std::string> unproved_;
  // Rules of the deriver that are neither proved nor refuted. They never derive a kept rule.
  struct Open {
    std::size_t number = 0;
    rules::Rule rule;
  };
  std::vector<Open> open_;
  std::chrono::duration<double> proving_{0};
};

}  // namespace xflow::generator
