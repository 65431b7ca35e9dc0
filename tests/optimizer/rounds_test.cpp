#include "src/optimizer/rounds.h"

#include <gtest/gtest.h>

namespace xflow::api {
namespace {

OptimizeReport first_round() {
  OptimizeReport report;
  report.improved = true;
  report.predicted.before = Nanoseconds(100);
  report.predicted.after = Nanoseconds(80);
  report.search.states = 300;
  report.time = Seconds(4);
  report.kernels.time = Seconds(1);
  report.search.steps = {{"add-zero", "node 'a' (Add)", Nanoseconds(20)}};
  report.search.rules = {{"add-zero", 3, 2, 1}};
  report.nodes.before = 5;
  report.nodes.after = 4;
  report.constant_bytes.before = 1000;
  report.constant_bytes.after = 1040;
  return report;
}

TEST(Rounds, ARoundThatFindsSomethingGoesOnFromTheOneBefore) {
  OptimizeReport report = first_round();
  OptimizeReport second = first_round();
  second.predicted.after = Nanoseconds(70);
  second.nodes.after = 3;
  second.constant_bytes.after = 900;
  second.search.rules = {{"add-zero", 1, 1, 1}, {"relu-of-relu", 1, 1, 1}};
  add_round(report, second);
  EXPECT_EQ(report.predicted.before, Nanoseconds(100));
  EXPECT_EQ(report.predicted.after, Nanoseconds(70));
  EXPECT_EQ(report.search.steps.size(), 2U);
  ASSERT_EQ(report.search.rules.size(), 2U);
  EXPECT_EQ(report.search.rules[0].matched, 4U);
  EXPECT_EQ(report.search.rules[0].applied, 2U);
  EXPECT_EQ(report.nodes.before, 5U);
  EXPECT_EQ(report.nodes.after, 3U);
  EXPECT_EQ(report.constant_bytes.before, 1000U);
  EXPECT_EQ(report.constant_bytes.after, 900U);
  EXPECT_EQ(report.search.states, 600U);
  EXPECT_EQ(report.time, Seconds(8));
}

TEST(Rounds, ARoundThatFindsNothingLeavesTheResult) {
  OptimizeReport report = first_round();
  OptimizeReport second;
  second.search.states = 20;
  second.search.stop_reason = StopReason::exhausted;
  add_round(report, second);
  EXPECT_EQ(report.predicted.after, Nanoseconds(80));
  EXPECT_EQ(report.nodes.after, 4U);
  EXPECT_EQ(report.search.states, 320U);
  EXPECT_EQ(report.search.stop_reason, StopReason::exhausted);
}

TEST(Rounds, ShareABudgetOfTimeButNotOneOfStates) {
  OptimizeOptions options;
  options.search.max_states = 300;
  EXPECT_EQ(options_of_next_round(options, first_round())->search.max_states, 300U);
  EXPECT_FALSE(options_of_next_round(options, first_round())->search.max_time);
  options.search.max_time = Seconds(10);
  EXPECT_EQ(options_of_next_round(options, first_round())->search.max_time, Seconds(7)) << "timing kernels does not count";
  options.search.max_time = Seconds(3);
  EXPECT_FALSE(options_of_next_round(options, first_round()));
}

TEST(Rounds, ShareTheTimeOfRunningWholeModels) {
  OptimizeOptions options;
  options.search.max_states = 300;
  options.validation.max_measure_time = Seconds(60);
  OptimizeReport report = first_round();
  report.gate.run = true;
  report.gate.time = Seconds(20);
  EXPECT_EQ(options_of_next_round(options, report)->validation.max_measure_time, Seconds(40));
  report.gate.time = Seconds(60);
  EXPECT_FALSE(options_of_next_round(options, report));
  options.search.max_time = Seconds(10);
  report.gate.time = Seconds(2);
  EXPECT_EQ(options_of_next_round(options, report)->search.max_time, Seconds(9)) << "running whole models does not count as searching";
}

TEST(Rounds, AreRunAgainstTheOneBeforeAndSaySo) {
  OptimizeReport report = first_round();
  report.gate.run = true;
  report.gate.time = Seconds(5);
  OptimizeReport second = first_round();
  second.gate.run = true;
  second.gate.time = Seconds(3);
  second.gate.comparisons.emplace_back();
  second.gate.comparisons.back().ratio = 0.9;
  second.gate.comparisons.back().low = 0.88;
  second.gate.comparisons.back().high = 0.92;
  second.gate.comparisons.back().pairs = 39;
  add_round(report, second);
  OptimizeReport third = second;
  third.improved = false;
  third.reason = "run from end to end, it is slower";
  add_round(report, third);
  EXPECT_EQ(report.gate.time, Seconds(11));
  EXPECT_TRUE(report.gate.comparisons.empty()) << "those with the original";
  ASSERT_EQ(report.gate.later.size(), 1U);
  EXPECT_EQ(report.gate.later[0], "0.900 of the time of the result before [0.880, 0.920] in 39 pairs");
  ASSERT_EQ(report.gate.others.size(), 1U);
  EXPECT_EQ(report.gate.others[0], "another search on the result, against the result: run from end to end, it is slower");
}

TEST(Rounds, TogetherGrowNoMoreThanOneMay) {
  OptimizeOptions options;
  options.search.max_states = 300;
  options.search.max_growth = 0.05;
  EXPECT_NEAR(options_of_next_round(options, first_round())->search.max_growth, 1050.0 / 1040 - 1, 1e-9);
  options.search.max_growth = 0;
  EXPECT_EQ(options_of_next_round(options, first_round())->search.max_growth, 0);
  options.search.max_growth_bytes = 100;
  EXPECT_EQ(options_of_next_round(options, first_round())->search.max_growth_bytes, 60U) << "1000 bytes became 1040";
  options.search.max_growth_bytes = 10;
  EXPECT_EQ(options_of_next_round(options, first_round())->search.max_growth_bytes, 0U);
}

}  // namespace
}  // namespace xflow::api
