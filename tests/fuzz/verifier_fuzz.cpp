// Any rule is decided within its limits: nothing crashes, the verdict is the same when it is decided again and can be explained, what is
// proved survives evaluation on raw shapes, and a counterexample replays.
#include "src/rules/instantiate.h"
#include "src/verifier/checker/replay.h"
#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rule_from_bytes.h"
#include "tests/verifier/raw_check.h"

using xflow::fuzz::expect;
namespace rules = xflow::rules;
namespace verifier = xflow::verifier;

namespace {

constexpr std::size_t kLongestText = 2000;  // long rules are the matter of the target `rules`
constexpr std::size_t kMostRules = 4;
constexpr std::size_t kMostInstances = 16;  // of a rule that is decided
constexpr std::size_t kCompared = 4;        // instances of a proved rule that are evaluated, on so many shapes each

// Counts alone, so that an input is decided alike everywhere.
verifier::Options limits() {
  verifier::Options options;
  options.steps = 5'000;
  options.z3_rlimit = 100'000;
  return options;
}

void expect_said(bool holds, const char* promise, const rules::Rule& rule, const std::string& found) {
  if (!holds) std::fprintf(stderr, "%s%s\n", print(rule).c_str(), found.c_str());
  expect(holds, promise);
}

void expect_true(const rules::Rule& rule, std::vector<rules::RuleInstance>& instances) {
  const std::size_t step = 1 + instances.size() / kCompared;
  for (std::size_t k = 0; k < instances.size(); k += step) {
    const verifier::RawCheck check = verifier::check_raw(instances[k], kCompared, k + 1);
    expect_said(!check.failure, "a proved rule survives evaluation", rule, check.failure.value_or(""));
  }
}

void expect_replayed(const rules::Rule& rule, const verifier::Counterexample& counterexample) {
  const std::string text = counterexample.to_string();
  const auto replayed = verifier::replay_counterexample(rule, text);
  expect_said(replayed.has_value() && replayed->different, "a counterexample replays", rule,
              text + "\n" + (replayed ? replayed->text : replayed.error().text()));
}

void decide(const rules::Rule& rule) {
  auto instances = rules::instantiate(rule);
  if (!instances) {
    xflow::fuzz::expect_message(instances.error().message);
    return;
  }
  if (instances->size() > kMostInstances) return;
  const verifier::RuleDecision decided = verifier::decide(rule, limits());
  const verifier::RuleDecision repeated = verifier::decide(rule, limits());
  expect_said(decided.verdict == repeated.verdict && decided.explanation() == repeated.explanation() &&
                  decided.decision.steps == repeated.decision.steps,
              "a rule that is decided again gets the same answer", rule, decided.explanation() + "\n" + repeated.explanation());
  const std::string explained = verifier::explain_rule(rule, limits());
  expect_said(explained.starts_with(rule.name + ": " + verifier::name(decided.verdict)), "an explanation has the verdict", rule, explained);
  if (decided.verdict == verifier::Verdict::proved) {
    expect_true(rule, *instances);
    return;
  }
  expect_said(!decided.explanation().empty(), "a rule that is not proved says why", rule, "");
  xflow::fuzz::expect_message(decided.explanation());
  if (decided.decision.counterexample) expect_replayed(rule, *decided.decision.counterexample);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = xflow::fuzz::rule_text(data, size);
  if (text.size() > kLongestText) return 0;
  const auto parsed = rules::parse_rules(text, "fuzz");
  if (!parsed) {
    xflow::fuzz::expect_message(parsed.error().message);
    return 0;
  }
  if (parsed->size() > kMostRules) return 0;
  for (const rules::Rule& rule : *parsed) {
    const std::string printed = print(rule);
    const auto repeated = rules::parse_rules(printed, "printed");
    expect_said(repeated.has_value() && repeated->size() == 1 && repeated->front().hash == rule.hash,
                "a printed rule parses back to the same", rule, repeated ? "" : repeated.error().text());
    decide(rule);
  }
  return 0;
}
