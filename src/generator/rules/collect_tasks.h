// Tasks of the collection of rules. Each depends on its arguments alone, so that workers can run tasks in
// parallel.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/generator/enumerate/candidate_list.h"
#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/derive.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/decide.h"

namespace xflow::generator {

// Whether a rule can lead from `source` to `target`: the source has operations, and the target reads no other
// input.
bool is_source(const GraphSignature& signature, const SmallGraph& source, const SmallGraph& target);
// Whether a rule changes divisions, square roots or exponentials. A search applies such a rule to constants
// only, or on request.
bool changes_partial(const GraphSignature& signature, const RuleCandidate& candidate);
// Whether rules of class special may derive a candidate: it has divisions, square roots or exponentials, or
// it drops an input. All other candidates must be derived without these rules. Candidates with the same
// quotients on both sides could be left to special rules too, but without x / x = 1 the laws of fractions
// have no end.
bool may_change_partial(const GraphSignature& signature, const RuleCandidate& candidate);

// The state of a candidate with respect to a set of rules. derived: the rules derive it, or for two outputs
// rewrite the source into something as cheap. follows: it would be derived if the rules that are neither
// proved nor refuted were true. open: neither.
enum class Triage : char { derived = 'd', follows = 'u', open = '?' };
// `unproved`: the disabled rules of the deriver.
Triage triage_of(Deriver& deriver, std::span<const std::size_t> unproved, const DeriveLimits& limits, const GraphSignature& signature,
                 const RuleCandidate& candidate);

// A form of a candidate, checked for few dimensions. Forms are ordered by direction, then as write_rule
// orders them.
struct TriedGeneralisation {
  bool reversed = false;
  std::size_t variant = 0;
  verifier::Verdict verdict = verifier::Verdict::ill_typed;
  bool is_guarded = false;  // proved under the guard that no divisor is 0
  std::string why;          // the reason if it is not proved
};
// Tries the forms from number `begin` on, up to the first that is proved.
std::vector<TriedGeneralisation> try_generalisations(const GraphSignature& signature, const RuleCandidate& candidate,
                                                     const verifier::Options& options, std::size_t begin = 0);
// Adds guards that divisors are not 0 to `rule`, if exactly such guards are missing from the proof of
// `decided`; otherwise returns nothing.
std::optional<rules::Rule> with_divisors_guarded(const rules::Rule& decided, const rules::Rule& rule, const verifier::Options& options);

// The proof of a rule for all its ranks. If it is proved, `rule` lacks the guards that it does not need.
struct FullProof {
  verifier::Verdict verdict = verifier::Verdict::unknown;
  std::string why;
  std::optional<rules::Rule> rule;
};
FullProof prove_fully(const rules::Rule& rule, const verifier::Options& options);
// The first form of a candidate that is proved. `with_equal`: also tries forms that identify dimensions.
std::optional<rules::Rule> first_proved(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                        bool with_equal, const verifier::Options& options);

// The same tasks as text, for questions and answers. The first word of a question is its kind: triage, forms,
// prove or first.
namespace tasks {
// `rules`: the rules of the deriver in order, proved ones and open ones. triage() asks about candidates
// `begin` to `end` of a signature in their order.
struct RuleText {
  std::string text;
  bool is_proved = true;
  bool is_special = false;
  friend bool operator==(const RuleText&, const RuleText&) = default;
};
std::string triage(std::size_t signature, std::size_t ranges, std::size_t begin, std::size_t end, std::span<const RuleText> rules);
std::string forms(std::size_t signature, const RuleCandidate& candidate);
std::string prove(const rules::Rule& rule);
std::string first(std::size_t signature, const RuleCandidate& candidate, const std::string& name, bool with_equal);
bool is_one(const std::string& kind);

Result<std::vector<TriedGeneralisation>> forms_of(const std::string& answer);
Result<FullProof> proof_of(const std::string& answer);
Result<std::optional<rules::Rule>> rule_of(const std::string& answer);

// Converts candidates to and from text.
std::string to_text(const RuleCandidate& candidate);
Result<RuleCandidate> candidate_of(const std::string& text);
}  // namespace tasks

// Answers the questions. Keeps the rules of the last question, since the next question mostly has the same
// rules.
class CollectWorker {
 public:
  // Reads the candidates of a signature, in their order, from files.
  using CandidatesOf = std::function<Result<CandidateList>(std::size_t signature, std::size_t ranges)>;
  CollectWorker(std::span<const GraphSignature> signatures, const DeriveLimits& limits, const verifier::Options& options,
                CandidatesOf candidates_of);
  ~CollectWorker();

  Result<std::string> run(const std::string& task);

 private:
  Result<std::string> triage(std::size_t signature, std::size_t ranges, std::size_t begin, std::size_t end, const std::string& rules);
  Result<void> follow(const std::string& rules);

  std::span<const GraphSignature> signatures_;
  DeriveLimits limits_;
  verifier::Options options_;
  CandidatesOf candidates_of_;
  std::optional<std::size_t> signature_;  // signature of `candidates_`
  std::optional<CandidateList> candidates_;
  std::unique_ptr<Deriver> deriver_;
  std::vector<tasks::RuleText> texts_;  // rules that the deriver has
  std::string followed_;                // the same rules as received
  std::vector<std::size_t> unproved_;
};

}  // namespace xflow::generator
