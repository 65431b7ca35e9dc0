// A small set of proved rules that derives all candidates.
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
#include "src/generator/rules/collect_pieces.h"
#include "src/generator/rules/derive.h"
#include "src/generator/rules/gain.h"
#include "src/generator/rules/shapes.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/verifier.h"

namespace xflow::generator {

struct KeptRule {
  std::size_t signature = 0;  // a number of the caller, of each signature its own
  Candidate candidate;        // from source to target of the rule
  std::string name;
  std::size_t variant = 0;  // of write_rule
  EqualUnknowns equal;      // dimensions that it takes for one
  rules::Rule rule;
  FlatEquation equation;            // as it was found
  std::size_t number = 0;           // in the deriver
  bool needed = true;               // no other rules derive it
  bool proved = false;              // for all ranks that it admits
  bool pair = false;                // of two outputs
  bool special = false;             // divides, takes roots or exponentials, or drops an input
  Gain gain;                        // which way it can pay
  std::optional<rules::Rule> back;  // the other way round, where that can pay and is proved
};

struct MinimizeCounts {
  std::uint64_t candidates = 0;
  std::uint64_t derived = 0;                            // by rules kept before
  std::uint64_t accidents = 0;                          // of those that were left, differ on more numbers
  std::uint64_t kept = 0;                               // proved, and not derived when they came
  std::uint64_t eliminated = 0;                         // of those, derived by the others in the end
  std::map<verifier::Verdict, std::uint64_t> verdicts;  // of what was not derived, in its best form
  std::uint64_t follow_from_unproved = 0;               // would be derived if what is neither proved nor refuted were true
};

class RuleCollector {
 public:
  // Answers pieces (collect_pieces.h), each in its place.
  using Ask = std::function<Result<std::vector<std::string>>(const std::vector<std::string>& pieces)>;

  RuleCollector(const DeriveLimits& limits, const verifier::Options& options) : limits_(limits), options_(options) {}
  // Gives what can be done elsewhere to others, `width` at a time; with one nothing is asked. Changes no result.
  void share(Ask ask, std::size_t width) {
    ask_ = std::move(ask);
    width_ = width;
  }

  // Forgets the counts of candidates, which are about to be collected once more.
  void begin_again();
  // Keeps what the rules kept before do not derive: in its most general form that is proved for few dimensions. As equations, candidates of
  // two outputs follow from two of one; as rewrites they do not. So these are kept where rules kept before do not lead from the source to
  // the target, nor to anything that costs as little.
  // All candidates are looked at with the rules that are there when it is called, and those that are open once more in their order: what is
  // kept depends on how they are divided. `triages`: the first triage of each, if others had it. Errors are those of Ask.
  Result<void> collect(const GraphSignature& signature, std::size_t signature_number, std::span<const Candidate> candidates,
                       std::optional<std::string> triages = std::nullopt);
  // The rules with which candidates are looked at.
  std::vector<pieces::RuleText> texts() const;
  // Removes, from the largest on, what the others derive.
  void eliminate();
  // Proves what is needed for all ranks, and leaves out guards without which it holds as well. Where that takes another form, or cannot be
  // done, false: what the old form derived is to be collected again.
  Result<bool> prove(const std::function<const GraphSignature&(const KeptRule&)>& signature_of);
  // Finds out which way each rule can pay; where it is the other way, or both, that is written and proved too.
  Result<void> direct(const std::function<const GraphSignature&(const KeptRule&)>& signature_of);

  // All that was collected, as text, and back into a collector that has collected nothing. Not of what was eliminated or proved.
  std::string save() const;
  Result<void> restore(const std::string& saved, std::span<const GraphSignature> signatures);

  const std::vector<KeptRule>& kept() const { return kept_; }
  const MinimizeCounts& counts() const { return counts_; }
  // Of what was not proved a sample: text and verdict.
  const std::vector<std::string>& unproved() const { return unproved_; }
  Deriver& deriver() { return deriver_; }
  // How long collecting has waited for proofs.
  std::chrono::duration<double> proving() const { return proving_; }

 private:
  // `special`: also by rules of class special.
  bool derives(const FlatEquation& equation, Goal goal, bool special);
  std::vector<std::size_t> unproved_rules() const;
  // On numbers of other seeds, and tensors of both sizes. Signs of few elements are all that is seen of some.
  bool holds_on_more_numbers(const GraphSignature& signature, std::size_t signature_number, const Candidate& candidate);
  // False for what is open.
  bool count(Triage triage);
  void keep(const GraphSignature& signature, std::size_t signature_number, const Candidate& candidate, std::vector<TriedForm> forms);
  // As try_forms, with the time it takes.
  std::vector<TriedForm> tried_forms(const GraphSignature& signature, const Candidate& candidate, std::size_t begin);
  // Why a form that is proved for few dimensions is not kept; nothing where it is.
  std::optional<std::string> try_to_keep(const GraphSignature& signature, KeptRule kept, bool is_guarded);
  // Empty answers where nothing is asked.
  Result<std::vector<std::string>> ask(const std::vector<std::string>& questions) const;
  void unproved(const GraphSignature& signature, const Candidate& candidate, verifier::Verdict verdict, const std::string& text);

  Deriver deriver_;
  DeriveLimits limits_;
  verifier::Options options_;
  Ask ask_;
  std::size_t width_ = 1;
  std::vector<KeptRule> kept_;
  std::map<std::string, int> names_;
  std::map<std::size_t, std::vector<Evaluator>> evaluators_;  // by signature
  MinimizeCounts counts_;
  std::vector<std::string> unproved_;
  // Rules of the deriver that are neither proved nor refuted: never used to derive what is kept.
  struct Open {
    std::size_t number = 0;
    std::string text;
  };
  std::vector<Open> open_;
  std::chrono::duration<double> proving_{0};
};

}  // namespace xflow::generator
