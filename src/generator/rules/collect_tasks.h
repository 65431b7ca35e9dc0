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
#include <variant>
#include <vector>

#include "src/generator/enumerate/candidate_list.h"
#include "src/generator/enumerate/candidates.h"
#include "src/generator/rules/derive.h"
#include "src/rules/rule.h"
#include "src/verifier/proof/decide.h"

namespace xflow::generator {

// Whether a rule can lead from `source` to `target`: the source has operations, and the target reads no
// other input.
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

// The same tasks as questions and answers. Inside a process both are values, with rules as rules::Rule. Text
// is only the wire format between processes; candidates and rules are text in checkpoints, too.
namespace tasks {
struct GivenRule {
  rules::Rule rule;
  bool is_proved = true;
  bool is_special = false;
  friend bool operator==(const GivenRule& a, const GivenRule& b) {
    return a.rule.hash == b.rule.hash && a.is_proved == b.is_proved && a.is_special == b.is_special;
  }
};
using GivenRules = std::shared_ptr<const std::vector<GivenRule>>;

// The triage of candidates `begin` to `end` of a signature in their order. `rules`: the rules of the deriver
// in order, proved ones and open ones.
struct TriageQuestion {
  std::size_t signature = 0;
  std::size_t ranges = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  GivenRules rules;
};
struct FormsQuestion {  // try_generalisations
  std::size_t signature = 0;
  RuleCandidate candidate;
};
struct ProveQuestion {  // prove_fully
  rules::Rule rule;
};
struct FirstQuestion {  // first_proved
  std::size_t signature = 0;
  RuleCandidate candidate;
  std::string name;
  bool with_equal = false;
};
using Question = std::variant<TriageQuestion, FormsQuestion, ProveQuestion, FirstQuestion>;
// Alternative k answers questions of alternative k. The first: one letter of Triage per candidate.
using Answer = std::variant<std::string, std::vector<TriedGeneralisation>, FullProof, std::optional<rules::Rule>>;

// The wire format. The first word of a question is its kind: triage, forms, prove or first.
std::string to_text(const Question& question);
std::string to_text(const Answer& answer);
Result<Answer> answer_of(const Question& question, const std::string& text);
bool is_one(const std::string& kind);

// Converts candidates to and from text.
std::string to_text(const RuleCandidate& candidate);
Result<RuleCandidate> candidate_of(const std::string& text);
// The rule that a text of one rule says.
Result<rules::Rule> rule_of(const std::string& text);
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

  Result<tasks::Answer> answer(const tasks::Question& question);
  // The same in the wire format.
  Result<std::string> run(const std::string& task);

 private:
  struct RuleText {
    std::string text;
    bool is_proved = true;
    bool is_special = false;
    friend bool operator==(const RuleText&, const RuleText&) = default;
  };
  Result<tasks::Question> question_of(const std::string& task);
  Result<tasks::GivenRules> rules_of(const std::string& text);
  Result<std::string> triage(const tasks::TriageQuestion& question);
  Result<void> follow(const tasks::GivenRules& rules);

  std::span<const GraphSignature> signatures_;
  DeriveLimits limits_;
  verifier::Options options_;
  CandidatesOf candidates_of_;
  std::optional<std::size_t> signature_;  // signature of `candidates_`
  std::optional<CandidateList> candidates_;
  std::unique_ptr<Deriver> deriver_;
  tasks::GivenRules followed_;  // rules that the deriver has; null if it may have others
  std::vector<std::size_t> unproved_;
  // The rules of the last triage in the wire format: as received, divided, and parsed.
  std::string received_;
  std::vector<RuleText> texts_;
  tasks::GivenRules parsed_;
};

}  // namespace xflow::generator
