// Counterexamples are small, and their text is enough to evaluate them again.
#include "src/verifier/checker/replay.h"

#include <gtest/gtest.h>

#include "src/verifier/proof/prove_rules.h"
#include "tests/places.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

std::string replayed(const rules::Rule& rule, std::string_view text) {
  const auto result = replay_counterexample(rule, text);
  return result ? (result->different ? "different, " : "equal, ") + result->text : result.error().text();
}

const char* const kProduct =
    "rule r\n  with\n    x: [M, K], w: [K, M]\n  source\n    y = matmul(x, w)\n  target\n    y = matmul(w, x)\n  where M = K\n";

TEST(Replay, ReproducesEveryCounterexample) {
  const auto rules = read_rules(places::repository() + "/tests/verifier/refuted");
  ASSERT_TRUE(rules) << rules.error().text();
  const auto decisions = decide(*rules, {}, 2);
  for (std::size_t k = 0; k < rules->size(); ++k) {
    const Decision& d = decisions[k].decision;
    ASSERT_TRUE(d.counterexample) << decisions[k].rule;
    const std::string text = d.counterexample->to_string();
    const auto result = replay_counterexample((*rules)[k], text);
    ASSERT_TRUE(result) << decisions[k].rule << ": " << text << "\n" << result.error().text();
    EXPECT_TRUE(result->different) << decisions[k].rule << ": " << text << "\n" << result->text;
    if (d.counterexample->tensors.empty()) continue;
    EXPECT_NE(result->text.find(": source " + d.counterexample->source_value + ", target " + d.counterexample->target_value),
              std::string::npos)
        << decisions[k].rule << ": " << text << "\n"
        << result->text;
  }
}

TEST(Replay, SaysBothValues) {
  const rules::Rule rule = rule_of(kProduct);
  const std::string sizes = "x = [[1, 2], [0, 1]]; w = [[1, 0], [1, 1/2]]";
  EXPECT_EQ(replayed(rule, sizes), "different, output y at [0, 0]: source 3, target 1");
  EXPECT_EQ(replayed(rule, sizes + "; output y at [1, 0]: 7 != 8"),
            "different, output y at [1, 0]: source 1, target 1; first difference: output y at [0, 0]: source 3, target 1");
  EXPECT_EQ(replayed(rule, "x = [[1]]; w = [[2]]"), "equal, both sides are equal");
}

TEST(Replay, SaysWhatDoesNotFit) {
  const rules::Rule rule = rule_of(kProduct);
  const std::string w = "; w = [[1]]";
  EXPECT_EQ(replayed(rule, "x = [[1]]"), "counterexample: no value for w");
  EXPECT_EQ(replayed(rule, "x = [[1], 2]" + w), "counterexample: the elements of '[[1], 2]' have different shapes");
  EXPECT_EQ(replayed(rule, "x = [[one]]" + w), "counterexample: expected a number or a list, found 'one'");
  EXPECT_EQ(replayed(rule, "x" + w), "counterexample: expected NAME = VALUE, found 'x'");
  EXPECT_EQ(replayed(rule, "x = 1; x = 2"), "counterexample: 'x' is given twice");
  EXPECT_EQ(replayed(rule, "x = [[1]]; v = 3" + w), "counterexample: the rule has no 'v'");
  EXPECT_EQ(replayed(rule, "x = [[1]]; w = [[1, 2]]"), "counterexample: w has shape [1, 2], expected [1, 1]");
  EXPECT_EQ(replayed(rule, "x = [[1]]; w = [[1]]; output z at [0]: 1 != 2"), "counterexample: the rule has no output 'z'");
  EXPECT_EQ(replayed(rule, "x = [[1]]; w = [[1]]; output y at [0, 1]: 1 != 2"),
            "counterexample: index 1 of output y is out of range: its shape is [1, 1]");
}

TEST(Replay, AsksForTheGuards) {
  const rules::Rule rule =
      rule_of("rule r\n  with\n    x: [A, B]\n  source\n    y = relu(x)\n  target\n    y = neg(x)\n  where A <= B and nonzero(x)\n");
  EXPECT_EQ(replayed(rule, "x = [[1], [2]]"),
            "counterexample: the rule does not apply to these sizes: guard B >= A (A <= B) does not hold");
  EXPECT_EQ(replayed(rule, "x = [[1, 0]]"), "counterexample: the rule does not apply to 0 in x: a guard on its elements does not hold");
}

TEST(Replay, AsksForNumbersOfTheTypes) {
  const rules::Rule rule =
      rule_of("rule r\n  with\n    i: uint8[A], b: bool[A]\n  source\n    y = i + cast(b, to: uint8)\n  target\n    y = i\n");
  EXPECT_EQ(replayed(rule, "i = [255]; b = [1]").substr(0, 9), "different");
  EXPECT_EQ(replayed(rule, "i = [256]; b = [1]"), "counterexample: 256 in i is no uint8");
  EXPECT_EQ(replayed(rule, "i = [-1]; b = [1]"), "counterexample: -1 in i is no uint8");
  EXPECT_EQ(replayed(rule, "i = [1/2]; b = [1]"), "counterexample: 1/2 in i is no uint8");
  EXPECT_EQ(replayed(rule, "i = [1]; b = [2]"), "counterexample: 2 in b is no bool");
}

TEST(Replay, AsksForRealNumbersOnlyWhereElementsAreCompared) {
  const rules::Rule rule = rule_of(
      "rule r\n  with\n    x: [N, M], w: [N]\n  source\n    y = x * reduce_sum(clip(w, min: t, max: 6), axes: [0])\n  target\n"
      "    y = x * clip(w, min: t, max: 6)\n");
  EXPECT_EQ(replayed(rule, "M = 1, N = 2").substr(0, 60), "different, the source has a type, but the target has it only");
  EXPECT_EQ(replayed(rule, "x = [[1]]; w = [1]"), "counterexample: expected a number for t");
}

TEST(Counterexamples, AreSmall) {
  const RuleDecision d = decide(rule_of(kProduct));
  ASSERT_EQ(d.verdict, Verdict::refuted);
  EXPECT_EQ(d.decision.counterexample->summary(), "x: [2, 2] w: [2, 2], output y at [1, 0]: 1 != 0");
  EXPECT_EQ(d.decision.counterexample->to_string(), "M = 2; x = [[0, 0], [0, 1]]; w = [[0, 0], [1, 0]]; output y at [1, 0]: 1 != 0");
}

TEST(Counterexamples, SayTheChoiceAndTheAttributes) {
  const RuleDecision d =
      decide(rule_of("rule r\n  with\n    x: [B.., A]\n  source\n    y = slice(x, starts: [a], sizes: [b], steps: 1)\n  target\n    y = "
                     "slice(x, starts: [0], sizes: [b], steps: 1)\n  where rank(x) = 1\n"));
  ASSERT_EQ(d.verdict, Verdict::refuted);
  EXPECT_EQ(d.decision.counterexample->summary(), "x: [2] a = 1 b = 1, for B: 0 dimensions, output y at [0]: 1 != 0");
  EXPECT_EQ(d.decision.counterexample->to_string(), "for B: 0 dimensions; A = 2, a = 1, b = 1; x = [0, 1]; output y at [0]: 1 != 0");
}

}  // namespace
}  // namespace xflow::verifier
