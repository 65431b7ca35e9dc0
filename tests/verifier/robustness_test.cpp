// Rules that are malformed, huge, contradictory or slow: clear verdicts, no crash.
#include <gtest/gtest.h>

#include <chrono>

#include "src/rules/rule.h"
#include "src/verifier/proof/prove_rules.h"
#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

RuleDecision decided(const std::string& text, const Options& options = {}) {
  auto rules = rules::parse_rules(text, "test.rules");
  EXPECT_TRUE(rules.has_value()) << (rules ? "" : rules.error().text());
  return rules ? decide(rules->front(), options) : RuleDecision{};
}

std::string parse_error(const std::string& text) {
  const auto rules = rules::parse_rules(text, "test.rules");
  return rules ? std::string() : rules.error().text();
}

// first(x), op(first), ... `length` operators, the last one named y.
std::string chain(const std::string& prefix, const std::string& first, const std::string& next, int length) {
  std::string text = "    " + prefix + "0 = " + first + "\n";
  for (int k = 1; k < length; ++k) {
    std::string term = next;
    for (std::size_t at = term.find('#'); at != std::string::npos; at = term.find('#', at))
      term.replace(at, 1, prefix + std::to_string(k - 1));
    text += "    " + (k + 1 == length ? std::string("y") : prefix + std::to_string(k)) + " = " + term + "\n";
  }
  return text;
}

TEST(Robustness, LongRulesAreDecided) {
  for (const char* op : {"neg", "tanh"}) {
    const std::string call = std::string(op) + "(";
    const RuleDecision d = decided("rule long\n  source\n" + chain("a", call + "x)", call + "#)", 450) + "  target\n" +
                                   chain("b", call + "x)", call + "#)", 450));
    EXPECT_EQ(d.verdict, Verdict::proved) << op << ": " << d.explanation();
  }
}

TEST(Robustness, ThousandsOfOperatorsAreRefused) {
  const std::string text = "rule long\n  source\n" + chain("a", "exp(x)", "exp(#)", 3000) + "  target\n    y = exp(x)\n";
  EXPECT_EQ(parse_error(text), "test.rules:1003:13: a rule has at most 1000 operators");
}

TEST(Robustness, ValuesThatDoubleTheirLengthDoNotFillTheMemory) {
  // x^(2^60): neither the coefficients of a normal form nor concrete numbers are that long.
  const RuleDecision product = decided("rule powers\n  source\n" + chain("a", "neg(x)", "# * #", 60) + "  target\n    y = x\n");
  EXPECT_EQ(product.explanation(), "refuted: x = -1; output y at []: 1 != -1");
  const RuleDecision d = decided("rule powers\n  source\n" + chain("a", "x + x", "# * #", 60) + "  target\n    y = x\n");
  EXPECT_EQ(d.explanation(), "refuted: x = 1/2; output y at []: 1 != 1/2");
}

TEST(Robustness, DimensionsBeyondAllTensorsAreNotProved) {
  const std::string text = "rule large\n  with\n    x: [N]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n  where N = 5000000000\n";
  const RuleDecision d = decided(text);
  EXPECT_EQ(d.explanation(), "unknown: agreement: only 0 shapes were found on which both sides can be evaluated, 8 are needed");
  EXPECT_EQ(parse_error("rule large\n  with\n    x: [99999999999999999999]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n"),
            "test.rules:3:9: the number 99999999999999999999 does not fit 64 bits");
}

TEST(Robustness, SizesThatOverflowAreNotProved) {
  const std::string product = "N * N * N * N * N * N * N * N";
  const RuleDecision d =
      decided("rule overflow\n  with\n    x: [N]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n  where N = 4000000000 and " +
              product + " >= 1\n");
  EXPECT_NE(d.verdict, Verdict::proved);
}

TEST(Robustness, ContradictoryGuardsProveNothing) {
  const RuleDecision d =
      decided("rule vacuous\n  with\n    x: [N]\n  source\n    y = neg(x)\n  target\n    y = x\n  where N >= 3 and 2 >= N\n");
  EXPECT_EQ(d.explanation(), "ill-typed: vacuous: no shapes satisfy the guards and the typing of the source");
}

TEST(Robustness, DivisionByZeroInAGuardIsNoGuard) {
  for (const char* guard : {"floor_div(N, 0) = 1", "mod(N, 0) = 0", "floor_div(N, N - N) = 1"}) {
    const std::string text =
        "rule division\n  with\n    x: [N]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n  where " + std::string(guard) + "\n";
    const auto rules = rules::parse_rules(text, "test.rules");
    if (!rules) {
      EXPECT_FALSE(rules.error().message.empty());
      continue;
    }
    const RuleDecision d = decide(rules->front());
    EXPECT_NE(d.verdict, Verdict::proved) << guard;
    EXPECT_FALSE(d.explanation().empty());
  }
  // A divisor that may be 0 is at least 1 where the guard holds.
  const RuleDecision d =
      decided("rule division\n  with\n    x: [N]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n  where mod(N, N - 1) = 0\n");
  EXPECT_EQ(d.verdict, Verdict::proved) << d.explanation();
}

TEST(Robustness, NothingIsUsedBeforeItIsDefined) {
  EXPECT_EQ(parse_error("rule own\n  source\n    y = neg(neg(x))\n  target\n    y = neg(y)\n"),
            "test.rules:5:13: 'y' is used before it is defined");
  EXPECT_EQ(parse_error("rule circle\n  source\n    a = neg(b)\n    b = neg(x)\n    y = neg(a)\n  target\n    y = neg(x)\n"),
            "test.rules:4:5: 'b' is used before it is defined");
}

TEST(Timeout, IsAVerdictThatIsNeverRecorded) {
  auto rules = rules::parse_rules(
      "rule share\n  with\n    x: [B.., M, K], a: [K, N], b: [K, N]\n  source\n    y = matmul(x, a) + matmul(x, b)\n"
      "  target\n    y = matmul(x, a + b)\n",
      "test.rules");
  ASSERT_TRUE(rules.has_value());
  Options options;
  options.record = true;
  options.timeout = std::chrono::nanoseconds(1);
  const RuleDecision d = decide(rules->front(), options);
  EXPECT_EQ(d.verdict, Verdict::timeout);
  EXPECT_EQ(d.explanation(), "timeout: the time limit was reached");
  EXPECT_FALSE(d.record.has_value());
  options.timeout = std::chrono::hours(1);
  EXPECT_TRUE(decide(rules->front(), options).record.has_value());
}

TEST(Agreement, OfFewerShapesIsEnoughWhereThereAreNoMore) {
  const std::string text = "rule few\n  with\n    x: [N]\n  source\n    y = neg(neg(x))\n  target\n    y = x\n  where ";
  EXPECT_EQ(decided(text + "3 >= N\n").verdict, Verdict::proved);
  EXPECT_EQ(decided(text + "N = 7\n").verdict, Verdict::proved);
  // Many shapes, of which few can be evaluated.
  EXPECT_EQ(decided(text + "N >= 4093\n").explanation(),
            "unknown: agreement: only 1 shapes were found on which both sides can be evaluated, 8 are needed");
}

}  // namespace
}  // namespace xflow::verifier
