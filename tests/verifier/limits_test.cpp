// A decision ends: the time that it is given is kept, and without one the resource units of Z3 are an end too.
#include <gtest/gtest.h>

#include <chrono>

#include "src/rules/instantiate.h"
#include "src/rules/verified_rules.h"
#include "src/verifier/counterexample/explain_rule.h"
#include "src/verifier/guards/infer.h"
#include "src/verifier/proof/prove_rules.h"

namespace xflow::verifier {
namespace {

rules::Rule rule(const std::string& text) {
  auto parsed = rules::parse_rules(text, "a.rules");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().text();
  return std::move(parsed->front());
}

// No sizes satisfy the guard, as Euler showed, but a solver only looks for some.
const char* const kCubes = R"(rule cubes
  with
    x: [A, B, C]
  source
    y = relu(relu(x))
  target
    y = relu(x)
  where A * A * A + B * B * B = C * C * C
)";

// A bias of f times as many channels.
const char* const kBiased = R"(rule biased
  with
    x: [N, g * I, S..]
    w: [g * I, I, K..]
    t: [N, g * f * I, S..]
    s: [1^M, (g * I)?, 1^S]
  source
    y = conv(x, w, strides: 1, pads: p, dilations: d, groups: g) + t + x * s
  target
    y = conv(x, w + identity_kernel(channels: g * I, kernel: K.., groups: g) * reshape(s, shape: [elements(s), 1, 1^K]), strides: 1, pads: p, dilations: d, groups: g) + t
  where rank(s) <= rank(x) and begins(p) = d * floor_div(K.. - 1, 2) and ends(p) = d * (K.. - 1 - floor_div(K.. - 1, 2))
)";

Options limited(double seconds) {
  Options options;
  options.refute_first = true;
  options.timeout = std::chrono::duration<double>(seconds);
  return options;
}

TEST(Limits, StopADecisionInsideAQuestionToTheSolver) {
  const RuleDecision d = decide(rule(kCubes), limited(0.3));
  EXPECT_EQ(d.verdict, Verdict::timeout);
  EXPECT_EQ(d.decision.open, "the time limit was reached");
}

// The question alone would take minutes.
TEST(Limits, StopAQuestionToTheSolverWhereTheCallerSaysSo) {
  using Clock = std::chrono::steady_clock;
  Options options = limited(0);
  options.z3_rlimit = 4'000'000'000;
  const auto start = Clock::now();
  options.deadline = Deadline(Deadline::Moment::max(), [start] { return Clock::now() - start > std::chrono::milliseconds(300); });
  const RuleDecision d = decide(rule(kCubes), options);
  EXPECT_EQ(d.verdict, Verdict::timeout);
  EXPECT_EQ(d.decision.open, "the time limit was reached");
}

// A caller that may stop and does not changes no verdict.
TEST(Limits, AreNoneWhereTheCallerDoesNotStop) {
  Options options = limited(0);
  const RuleDecision plain = decide(rule(kBiased), options);
  std::size_t asked = 0;
  options.deadline = Deadline(Deadline::Moment::max(), [&asked] { return ++asked == 0; });
  const RuleDecision asking = decide(rule(kBiased), options);
  EXPECT_EQ(asking.verdict, Verdict::proved);
  EXPECT_EQ(asking.explanation(), plain.explanation());
  EXPECT_GT(asked, 0U);
}

// No number is an index of one row and not 0, so none can be drawn.
TEST(Limits, EndWhereGuardsLeaveNoNumber) {
  for (const std::string guards : {"in_range(i, 0, 1) and nonzero(i)", "positive(i) and in_range(i, -3, 0)", "nonzero(i)", "positive(i)"}) {
    const RuleDecision d = decide(rule(R"(rule rows
  with
    x: [1], i: int64[N]
  source
    y = gather(x, i) + 0 * gather(x, i)
  target
    y = gather(x, i) + gather(x, i)
  where )" + guards + "\n"),
                                  limited(5));
    EXPECT_NE(d.verdict, Verdict::proved) << guards;
    EXPECT_NE(d.verdict, Verdict::timeout) << guards;
  }
}

// Where t has more channels than the convolution, that has one.
TEST(Limits, LeaveTimeForAProof) {
  const RuleDecision d = decide(rule(kBiased), limited(60));
  EXPECT_EQ(d.verdict, Verdict::proved) << d.explanation();
}

TEST(Limits, LeaveTimeForACounterexample) {
  std::string wrong = kBiased;
  wrong.replace(wrong.find("groups: g) + t\n  where"), 14, "groups: g) - t");
  const RuleDecision d = decide(rule(wrong.c_str()), limited(60));
  EXPECT_EQ(d.verdict, Verdict::refuted);
  EXPECT_TRUE(d.decision.counterexample.has_value());
}

TEST(Limits, StopTheSearchForGuards) {
  const auto inference = infer_guards(rule(kBiased), limited(0.05));
  ASSERT_TRUE(inference.has_value());
  EXPECT_FALSE(inference->proved);
  EXPECT_EQ(inference->open, "the time limit was reached");
}

// More ranks are open than choices are made, which takes seconds to find.
TEST(Limits, StopTheSearchForGuardsBeforeAllChoicesAreMade) {
  Options over;
  over.deadline = Deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  const auto inference = infer_guards(rule(R"(rule shifts
  source
    y = reshape(x, shape: dims(x)) + s + t
  target
    y = x + (s + t)
)"),
                                      over);
  ASSERT_TRUE(inference.has_value()) << inference.error().text();
  EXPECT_FALSE(inference->proved);
  EXPECT_EQ(inference->open, "the time limit was reached");
}

TEST(Limits, HoldForAnExplanation) {
  const std::string text = explain_rule(rule(kCubes), limited(1e-6));
  EXPECT_TRUE(text.starts_with("cubes: timeout\n")) << text;
  EXPECT_EQ(text.find("source - target"), std::string::npos) << text;
  EXPECT_NE(text.find("the time limit was reached"), std::string::npos) << text;
}

TEST(Limits, EndADecisionWhereTheCallerSaysSo) {
  int asked = 0;
  Options options;
  options.deadline = Deadline(Deadline::Moment::max(), [&] { return ++asked >= 100; });
  const RuleDecision d = decide(rule(kBiased), options);
  EXPECT_EQ(d.verdict, Verdict::timeout);
  EXPECT_EQ(d.decision.open, "the time limit was reached");
  EXPECT_GE(asked, 100);
  EXPECT_LE(asked, 200) << "it goes on";
}

TEST(Limits, EndTheMakingOfChoices) {
  int asked = 0;
  const auto instances = rules::instantiate(
      rule("rule r\n  source\n    y = relu(relu(transpose(x, perm: p)))\n  target\n    y = relu(transpose(x, perm: p))\n"),
      rules::kMaxChoices, [&] { return ++asked == 3; });
  ASSERT_FALSE(instances.has_value());
  EXPECT_EQ(instances.error().code, ErrorCode::limit);
  EXPECT_EQ(instances.error().text(), "a.rules:1:6: the time limit was reached");
  EXPECT_EQ(asked, 3);
}

// No rank is above 8, so that no choice types the source.
const char* const kNothing = R"(rule nothing
  with
    x: [S..]
  source
    y = relu(relu(x))
  target
    y = relu(x)
  where rank(x) >= 9
)";

TEST(Limits, AreHeardAtChoicesThatTypeNothing) {
  std::size_t choices = 0;
  const auto use = [](const rules::RuleInstance&) { return true; };
  auto all = rules::for_each_instance(rule(kNothing), use, [&] { return ++choices == 0; });
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().code, ErrorCode::ill_typed);
  EXPECT_EQ(choices, 9U);
  EXPECT_EQ(decide(rule(kNothing), Options()).verdict, Verdict::ill_typed);
  for (std::size_t last = 1; last <= choices; ++last) {
    std::size_t asked = 0;
    const auto ended = rules::for_each_instance(rule(kNothing), use, [&] { return ++asked == last; });
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().code, ErrorCode::limit);
    EXPECT_EQ(ended.error().text(), "a.rules:1:6: the time limit was reached");
    EXPECT_EQ(asked, last);

    // Said once, it holds for all that follows.
    asked = 0;
    Options options;
    options.deadline = Deadline(Deadline::Moment::max(), [&] { return ++asked == last; });
    const RuleDecision d = decide(rule(kNothing), options);
    EXPECT_EQ(d.verdict, Verdict::timeout) << last;
    EXPECT_EQ(d.decision.open, "the time limit was reached") << last;
    EXPECT_EQ(asked, last) << "it goes on";
  }
}

// 512 instances, which are made twice.
TEST(Limits, AreHeardWhenChoicesAreMadeAgain) {
  const rules::Rule r = rule(R"(rule sums
  with
    x: [A, B, C, D, E, F, G, H]
  source
    y = reduce_sum(-x, axes: a, keep_dims: k)
  target
    y = -reduce_sum(x, axes: a, keep_dims: k)
)");
  std::size_t choices = 0;
  std::size_t instances = 0;
  const auto use = [&](const rules::RuleInstance&) { return ++instances > 0; };
  ASSERT_TRUE(rules::for_each_instance(r, use, [&] { return ++choices == 0; }).has_value());
  ASSERT_EQ(instances, 512U);
  for (std::size_t last = choices - 1; last <= choices + 4; ++last) {
    std::size_t asked = 0;
    Options options;
    options.deadline = Deadline(Deadline::Moment::max(), [&] { return ++asked == last; });
    const RuleDecision d = decide(r, options);
    EXPECT_EQ(d.verdict, Verdict::timeout) << last;
    EXPECT_EQ(d.decision.open, "the time limit was reached") << last;
    EXPECT_EQ(asked, last) << "it goes on";
  }
}

TEST(Limits, EndTheSearchForGuardsAtAnyStep) {
  for (std::size_t last = 1; last <= 9; ++last) {
    std::size_t asked = 0;
    Options options;
    options.deadline = Deadline(Deadline::Moment::max(), [&] { return ++asked == last; });
    EXPECT_TRUE(missing_value_guards(rule(kNothing), options).empty());
    EXPECT_EQ(asked, last) << "it goes on";

    asked = 0;
    options.deadline = Deadline(Deadline::Moment::max(), [&] { return ++asked == last; });
    const auto inference = infer_guards(rule(kNothing), options);
    ASSERT_TRUE(inference.has_value()) << inference.error().text();
    EXPECT_FALSE(inference->proved);
    EXPECT_EQ(inference->open, "the time limit was reached");
  }
}

TEST(Limits, HoldForAllThatIsAskedOfARule) {
  // A time that is over already: nothing is asked any more.
  Options over;
  over.timeout = std::chrono::duration<double>(1);
  over.deadline = Deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(over.started().deadline, over.deadline);
  EXPECT_EQ(decide(rule(kCubes), over).verdict, Verdict::timeout);
  EXPECT_TRUE(missing_value_guards(rule(kCubes), over).empty());
}

}  // namespace
}  // namespace xflow::verifier
