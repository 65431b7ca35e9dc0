// Rules with one change each: none that evaluation refutes is proved.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "src/rules/instantiate.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/mutants/mutate.h"
#include "tests/verifier/raw_check.h"

namespace xflow::verifier {
namespace {

constexpr std::size_t kMutants = 2000;
constexpr std::uint64_t kSeed = 1;

// Wrong rules that few shapes tell from true ones can ask the solver for long: less is enough here, and proves less, never more.
Options limits() {
  Options options;
  options.z3_rlimit = 1'000'000;
  options.steps = 100'000;
  options.shrink = false;
  return options;
}

std::vector<rules::Rule> all_parents() {
  std::vector<rules::Rule> parents;
  for (const char* folder : {"/substitutions", "/tests/verifier/proved"}) {
    auto rules = read_rules(places::repository() + folder);
    EXPECT_TRUE(rules.has_value());
    if (!rules) return {};
    for (rules::Rule& r : *rules) parents.push_back(std::move(r));
  }
  return parents;
}

std::vector<mutants::Mutant> all_mutants() { return mutants::mutate(all_parents(), kMutants, kSeed); }

// A failure of a rule that evaluation finds in its smallest and some larger instances; nothing where it finds none.
std::optional<std::string> evaluated(const rules::Rule& rule, std::uint64_t seed) {
  auto instances = rules::instantiate(rule);
  if (!instances) return std::nullopt;
  const std::size_t step = std::max<std::size_t>(1, instances->size() / 4);
  for (std::size_t k = 0; k < instances->size(); k += step)
    if (auto failure = check_raw((*instances)[k], 8, seed + k).failure) return failure;
  return std::nullopt;
}

struct Outcome {
  RuleDecision decision;
  std::optional<std::string> failure;  // found by evaluation, for what is not refuted
};

TEST(Mutants, ThatEvaluationRefutesAreNotProved) {
  const std::vector<mutants::Mutant> mutants = all_mutants();
  ASSERT_EQ(mutants.size(), kMutants);
  std::vector<Outcome> outcomes(mutants.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k = next++; k < mutants.size(); k = next++) {
      Outcome& o = outcomes[k];
      o.decision = decide(mutants[k].rule, limits());
      const Verdict v = o.decision.verdict;
      if (v != Verdict::refuted && v != Verdict::ill_typed) o.failure = evaluated(mutants[k].rule, kSeed + k);
    }
  };
  std::thread other(work);
  work();
  other.join();

  std::map<std::string, std::map<Verdict, int>> kinds;
  std::map<Verdict, int> count;
  int missed = 0;
  std::uint64_t microseconds = 0;
  for (std::size_t k = 0; k < mutants.size(); ++k) {
    const Outcome& o = outcomes[k];
    ++kinds[mutants[k].kind][o.decision.verdict];
    ++count[o.decision.verdict];
    microseconds += o.decision.microseconds;
    if (!o.failure) continue;
    ++missed;
    EXPECT_NE(o.decision.verdict, Verdict::proved) << rules::print(mutants[k].rule) << "proved, but at " << *o.failure;
    fmt::print("missed: {} at {}\n", o.decision.rule, *o.failure);
  }
  for (const auto& [kind, verdicts] : kinds) {
    fmt::print("{:24}", kind);
    for (const auto& [v, n] : verdicts) fmt::print(" {:4} {}", n, name(v));
    fmt::print("\n");
  }
  for (std::size_t k = 0; k < mutants.size(); ++k) {
    const Verdict v = outcomes[k].decision.verdict;
    if (v == Verdict::unknown || v == Verdict::timeout) fmt::print("{}: {}\n", mutants[k].rule.name, outcomes[k].decision.explanation());
  }
  const int refuted = count[Verdict::refuted];
  fmt::print(
      "{} mutants: {} refuted, {} proved (equivalent to their parents as far as evaluation sees), {} unknown, {} timeout, {} ill-typed; "
      "{:.1f} s of processor time\n",
      mutants.size(), refuted, count[Verdict::proved], count[Verdict::unknown], count[Verdict::timeout], count[Verdict::ill_typed],
      static_cast<double>(microseconds) / 1e6);
  EXPECT_GE(refuted * 100, (refuted + missed) * 98) << missed << " that evaluation refutes were not refuted";
}

// Of those that say the same as their parents in other words some are proved, and these hold. Rules of many ranks are left after a while.
TEST(Variants, OfTrueRulesAreProvedAndHold) {
  const std::vector<mutants::Mutant> variants = mutants::vary(all_parents(), 3000, kSeed);
  ASSERT_EQ(variants.size(), 3000U);
  constexpr int kTried = 6;                          // of each kind
  std::map<std::string, std::pair<int, int>> kinds;  // proved, tried
  for (const mutants::Mutant& m : variants) {
    if (m.kind != "identity" && m.kind != "operands exchanged" && m.kind != "shape of its own") continue;
    auto& [proved, tried] = kinds[m.kind];
    if (tried == kTried) continue;
    ++tried;
    Options options = limits();
    options.deadline = Deadline(std::chrono::steady_clock::now() + std::chrono::seconds(2));
    const RuleDecision d = decide(m.rule, options);
    if (d.verdict == Verdict::proved) ++proved;
    EXPECT_FALSE(d.verdict == Verdict::proved && evaluated(m.rule, kSeed)) << rules::print(m.rule);
  }
  ASSERT_EQ(kinds.size(), 3U);
  for (const auto& [kind, count] : kinds) EXPECT_GE(count.first, 1) << kind << ": of " << count.second;
}

TEST(Mutants, AreTheSameInEveryRun) {
  const std::vector<mutants::Mutant> once = all_mutants();
  const std::vector<mutants::Mutant> repeated = all_mutants();
  ASSERT_EQ(once.size(), repeated.size());
  for (std::size_t k = 0; k < once.size(); ++k) EXPECT_EQ(once[k].rule.hash, repeated[k].rule.hash);
}

}  // namespace
}  // namespace xflow::verifier
