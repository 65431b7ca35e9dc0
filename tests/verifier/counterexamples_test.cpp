// What counts as a counterexample: tensors that a model could have, on which the sides differ when they are evaluated.
#include <gtest/gtest.h>

#include "src/verifier/checker/replay.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

RuleDecision decided(const std::string& text) { return decide(rule_of(text)); }

// An index out of range has no value in the source either.
TEST(Counterexamples, HaveNoIndicesOutOfRange) {
  const RuleDecision d = decided(
      "rule one-hot\n  with\n    x: [N, B], i: int64[K]\n  source\n    y = gather(x, i, axis: 0)\n"
      "  target\n    y = matmul(one_hot(i, axis: 1, depth: N), x)\n");
  EXPECT_NE(d.verdict, Verdict::refuted) << d.explanation();
}

// The shapes differ where n = 0 alone.
TEST(Counterexamples, HaveNoEmptyTensors) {
  const std::string source = "rule sizes\n  with\n    x: [A]\n  source\n    y = slice(x, starts: [0], sizes: [n], steps: 1)\n";
  const std::string target = "  target\n    y = slice(x, starts: [0], sizes: [1], steps: 1)\n  where ";
  const RuleDecision at_most_one = decided(source + target + "n <= 1\n");
  EXPECT_NE(at_most_one.verdict, Verdict::refuted) << at_most_one.explanation();
  const RuleDecision at_most_two = decided(source + target + "n <= 2\n");
  EXPECT_EQ(at_most_two.verdict, Verdict::refuted) << at_most_two.explanation();
}

// A target without a value is one, and evaluates again to what was printed.
TEST(Counterexamples, AreTargetsWithoutAValue) {
  const rules::Rule rule = rule_of("rule choice\n  source\n    y = select(c, x / s, 0)\n  target\n    y = select(c, x, 0) / s\n");
  const RuleDecision d = decide(rule);
  ASSERT_EQ(d.verdict, Verdict::refuted) << d.explanation();
  EXPECT_EQ(d.decision.counterexample->to_string(), "c = 0; x = 0; s = 0; output y at []: 0 != undefined");
  const auto replayed = replay_counterexample(rule, d.decision.counterexample->to_string());
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_TRUE(replayed->different);
  EXPECT_EQ(replayed->text, "output y at []: source 0, target undefined");
}

TEST(Counterexamples, AreTargetsThatDoNotRun) {
  const rules::Rule rule =
      rule_of("rule next\n  with\n    x: [A], i: int64[K]\n  source\n    y = gather(x, i) * 0\n  target\n    y = gather(x, i + 1) * 0\n");
  const RuleDecision d = decide(rule);
  ASSERT_EQ(d.verdict, Verdict::refuted) << d.explanation();
  const std::string text = d.decision.counterexample->to_string();
  EXPECT_NE(text.find("0 != undefined"), std::string::npos) << text;
  const auto replayed = replay_counterexample(rule, text);
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_TRUE(replayed->different) << replayed->text;
}

// Sizes of a counterexample of types are complete: also those that a choice of broadcasting or a guard gives.
TEST(Counterexamples, SayTheSizesThatBroadcastingFixes) {
  const rules::Rule rule = rule_of(
      "rule split\n  source\n    y, w = split(x * z, axis: 0, sizes: [n, m])\n  target\n    x1, x2 = split(x, axis: 0, sizes: [n, m])\n"
      "    z1, z2 = split(z, axis: 0, sizes: [n, m])\n    y = x1 * z1\n    w = x2 * z2\n  where rank(x) = 1 and rank(z) = 1\n");
  const RuleDecision d = decide(rule);
  ASSERT_EQ(d.verdict, Verdict::refuted) << d.explanation();
  const std::string choice = "for x: 1 dimension, z: 1 dimension; ";
  EXPECT_EQ(d.decision.counterexample->to_string(),
            choice +
                "x.0 = 1, z.0 = 2, n = 1, m = 1; the source has a type, but the target has it only where n + m = 1 (5:14 split of the "
                "target expects the sum of sizes to be the dimension that is split)");
  const auto replayed = [&](const std::string& sizes) {
    const auto result = replay_counterexample(rule, choice + sizes);
    return result ? result->text.substr(0, 21) : result.error().text();
  };
  EXPECT_EQ(replayed("x.0 = 1, z.0 = 2, n = 1, m = 1"), "the source has a type");
  EXPECT_EQ(replayed("n = 1, m = 1, x.0 = 1"), "the source has a type");
  EXPECT_EQ(replayed("x.0 = 1, z.0 = 3, n = 1, m = 1"),
            "counterexample: the rule does not apply to these sizes: z.0 is 2 there (for x: 1 dimension, z: 1 dimension)");
}

// An attribute that a guard gives is shown beside tensors too; dimensions are seen there.
TEST(Counterexamples, SayTheAttributesThatGuardsFix) {
  const RuleDecision d = decided(
      "rule first\n  with\n    x: [A, B]\n  source\n    y = slice(x, starts: [a, 0], sizes: [1, B], steps: 1)\n"
      "  target\n    y = slice(x, starts: [0, 0], sizes: [1, B], steps: 1)\n  where a = A - 1 and A = B\n");
  ASSERT_EQ(d.verdict, Verdict::refuted) << d.explanation();
  EXPECT_EQ(d.decision.counterexample->to_string(), "a = 1; x = [[0, 0], [0, 1]]; output y at [0, 1]: 1 != 0");
}

TEST(Decide, SaysWhereTheTargetHasAValue) {
  const RuleDecision d =
      decided("rule undone\n  source\n    y = x * 0 + z * 0\n  target\n    y = x * 0 + 0 * (z / (2 + z * z * z * z * z))\n");
  EXPECT_NE(d.verdict, Verdict::proved);
  const RuleDecision root = decided(
      "rule root\n  with\n    x: [A]\n  source\n    y = reduce_sum(x * x, axes: [0]) * 0\n"
      "  target\n    y = sqrt(reduce_sum(x * x, axes: [0]) - reduce_mean(x * x, axes: [0])) * 0\n");
  EXPECT_EQ(root.verdict, Verdict::unknown) << root.explanation();
  EXPECT_NE(root.explanation().find("the target has a value only where"), std::string::npos) << root.explanation();
}

}  // namespace
}  // namespace xflow::verifier
