#include <fmt/format.h>

#include <map>
#include <memory>

#include "src/rules/instantiate.h"
#include "src/verifier/checker/replay.h"
#include "src/verifier/counterexample/sample.h"
#include "src/verifier/proof/proof.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/faults/checks.h"
#include "tests/verifier/normal_form_evaluation.h"

namespace xflow::verifier {
namespace {

using SharedRule = std::shared_ptr<const rules::Rule>;

Options options() {
  Options o;
  o.steps = 200'000;
  o.timeout = std::chrono::seconds(20);
  return o;
}

std::string must_be_proved(const rules::Rule& rule) {
  const RuleDecision d = decide(rule, options());
  return d.verdict == Verdict::proved ? "" : d.explanation();
}

// The prover without the agreement of direct evaluation: an instance of a wrong rule is open.
std::string must_stay_open(const rules::Rule& rule) {
  auto instances = rules::instantiate(rule);
  if (!instances) return instances.error().text();
  for (rules::RuleInstance& instance : *instances) {
    Proof proof(instance, options());
    if (proof.unguarded_division() || proof.failed_obligation() || !proof.run()) return "";
  }
  return "the wrong rule is proved";
}

std::string must_be_refuted(const rules::Rule& rule) {
  const RuleDecision d = decide(rule, options());
  if (d.verdict != Verdict::refuted || !d.decision.counterexample) return "the wrong rule is " + d.explanation();
  const auto replayed = replay_counterexample(rule, d.decision.counterexample->to_string());
  if (!replayed) return "the counterexample makes no sense: " + replayed.error().text();
  const Counterexample& c = *d.decision.counterexample;
  const bool same_values =
      c.tensors.empty() || replayed->text.find("source " + c.source_value + ", target " + c.target_value) != std::string::npos;
  if (!replayed->different || !same_values) return "the counterexample is another: " + replayed->text;
  return "";
}

// Normal forms compute what the operators compute, element by element.
std::string must_evaluate_alike(const rules::Rule& rule) {
  auto list = rules::instantiate(rule);
  if (!list) return list.error().text();
  rules::RuleInstance& instance = (*list)[list->size() / 2];
  Proof proof(instance, options());
  proof.run();
  Concrete concrete(instance);
  Sampler sampler(instance, concrete, 7, 20'000'000);
  std::size_t compared = 0;
  for (const Assignment& a : sampler.assignments(2)) {
    const auto inputs = concrete.draw(a, 11, Concrete::Entry::small);
    if (!inputs) continue;
    const std::string differences = compare_normal_forms(instance, proof, a, *inputs, compared);
    if (!differences.empty()) return differences.substr(0, differences.find('\n'));
  }
  return "";
}

std::vector<SharedRule> rules_of(const std::string& folder) {
  std::vector<SharedRule> result;
  if (auto rules = read_rules(places::repository() + "/" + folder))
    for (rules::Rule& r : *rules) result.push_back(std::make_shared<rules::Rule>(std::move(r)));
  return result;
}

}  // namespace

std::vector<Check> rule_checks() {
  std::vector<Check> list;
  const auto add = [&](const char* kind, const std::vector<SharedRule>& rules, std::string (*check)(const rules::Rule&)) {
    for (const SharedRule& r : rules) list.push_back({fmt::format("{}/{}", kind, r->name), [r, check] { return check(*r); }});
  };
  const std::vector<SharedRule> wrong = rules_of("tests/verifier/refuted"), right = rules_of("tests/verifier/proved");
  add("alone", wrong, must_stay_open);
  add("proved", right, must_be_proved);
  add("evaluated", right, must_evaluate_alike);
  add("refuted", wrong, must_be_refuted);
  return list;
}

}  // namespace xflow::verifier
