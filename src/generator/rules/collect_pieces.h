// Parts of the collection of rules that depend on nothing but what they are asked, so that others can do them side by side.
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
#include "src/verifier/proof/verifier.h"

namespace xflow::generator {

// Whether a rule can lead from `source` to `target`: from operations to what reads no other input.
bool is_source(const GraphSignature& signature, const SmallGraph& source, const SmallGraph& target);
// Whether a rule changes what is divided or the range of exponentials: a search applies it to constants alone, or where it is asked to.
bool changes_partial(const GraphSignature& signature, const Candidate& candidate);
// Whether such rules may derive a candidate: it has such operations, or drops an input. What has none of them is there for everybody.
// Quotients that both sides have could be left to rules of their kind too, but without x / x = 1 there is no end of laws of fractions.
bool may_change_partial(const GraphSignature& signature, const Candidate& candidate);

// What becomes of a candidate among rules: the rules derive it, or of two outputs lead to something as cheap; it would follow if what is
// neither proved nor refuted were true; none of these.
enum class Triage : char { derived = 'd', follows = 'u', open = '?' };
// `unproved`: rules of the deriver that are not enabled.
Triage triage_of(Deriver& deriver, std::span<const std::size_t> unproved, const DeriveLimits& limits, const GraphSignature& signature,
                 const Candidate& candidate);

// A form of a candidate, in the order of both directions and of write_rule, for few dimensions.
struct TriedForm {
  bool reversed = false;
  std::size_t variant = 0;
  verifier::Verdict verdict = verifier::Verdict::ill_typed;
  bool is_guarded = false;  // proved where no divisor is 0
  std::string why;          // it is not proved
};
// Forms from number `begin` on, up to the first that is proved.
std::vector<TriedForm> try_forms(const GraphSignature& signature, const Candidate& candidate, const verifier::Options& options,
                                 std::size_t begin = 0);
// Where no divisor is 0, if that and nothing else is lacking; otherwise nothing.
std::optional<rules::Rule> with_divisors_guarded(const rules::Rule& decided, const rules::Rule& rule, const verifier::Options& options);

// A rule for all its ranks; where it is proved, without guards that it does not need.
struct FullProof {
  verifier::Verdict verdict = verifier::Verdict::unknown;
  std::string why;
  std::optional<rules::Rule> rule;
};
FullProof prove_fully(const rules::Rule& rule, const verifier::Options& options);
// The first form of a candidate that is proved; `with_equal`: also if it takes dimensions for one that need not be.
std::optional<rules::Rule> first_proved(const GraphSignature& signature, const Candidate& candidate, const std::string& name,
                                        bool with_equal, const verifier::Options& options);

// The same as texts, question and answer. The first word of a question is its kind: triage, forms, prove, first.
namespace pieces {
// Candidates `begin` to `end` of a signature in their order. `rules`: what derives, and what is not proved, in the order of a deriver.
struct RuleText {
  std::string text;
  bool is_proved = true;
  bool is_special = false;
  friend bool operator==(const RuleText&, const RuleText&) = default;
};
std::string triage(std::size_t signature, std::size_t ranges, std::size_t begin, std::size_t end, std::span<const RuleText> rules);
std::string forms(std::size_t signature, const Candidate& candidate);
std::string prove(const rules::Rule& rule);
std::string first(std::size_t signature, const Candidate& candidate, const std::string& name, bool with_equal);
bool is_one(const std::string& kind);

Result<std::vector<TriedForm>> forms_of(const std::string& answer);
Result<FullProof> proof_of(const std::string& answer);
Result<std::optional<rules::Rule>> rule_of(const std::string& answer);

// Candidates as text.
std::string to_text(const Candidate& candidate);
Result<Candidate> candidate_of(const std::string& text);
}  // namespace pieces

// Answers them. Keeps the rules of the last question, which most of the next one are.
class CollectWorker {
 public:
  // The candidates of a signature in their order, of files that it knows.
  using CandidatesOf = std::function<Result<CandidateList>(std::size_t signature, std::size_t ranges)>;
  CollectWorker(std::span<const GraphSignature> signatures, const DeriveLimits& limits, const verifier::Options& options,
                CandidatesOf candidates_of);
  ~CollectWorker();

  Result<std::string> run(const std::string& piece);

 private:
  Result<std::string> triage(std::size_t signature, std::size_t ranges, std::size_t begin, std::size_t end, const std::string& rules);
  Result<void> follow(const std::string& rules);

  std::span<const GraphSignature> signatures_;
  DeriveLimits limits_;
  verifier::Options options_;
  CandidatesOf candidates_of_;
  std::optional<std::size_t> signature_;  // of the candidates
  std::optional<CandidateList> candidates_;
  std::unique_ptr<Deriver> deriver_;
  std::vector<pieces::RuleText> texts_;  // that the deriver has
  std::string followed_;                 // these as they came
  std::vector<std::size_t> unproved_;
};

}  // namespace xflow::generator
