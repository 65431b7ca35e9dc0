#include "src/optimizer/rounds.h"

#include <gtest/gtest.h>

namespace xflow::api {
namespace {

OptimizeReport first_round() {
  OptimizeReport report;
  report.improved = true;
  report.before_nanoseconds = 100;
  report.after_nanoseconds = 80;
  report.states = 300;
  report.seconds = 4;
  report.kernels.seconds = 1;
  report.steps = {{"add-zero", "node 'a' (Add)", 20}};
  report.rules = {{"add-zero", 3, 2, 1}};
  report.nodes_before = 5;
  report.nodes_after = 4;
  report.constant_bytes_before = 1000;
  report.constant_bytes_after = 1040;
  return report;
}

TEST(Rounds, ARoundThatFindsSomethingGoesOnFromTheOneBefore) {
  OptimizeReport report = first_round();
  OptimizeReport second = first_round();
  second.after_nanoseconds = 70;
  second.nodes_after = 3;
  second.constant_bytes_after = 900;
  second.rules = {{"add-zero", 1, 1, 1}, {"relu-of-relu", 1, 1, 1}};
  add_round(report, second);
  EXPECT_EQ(report.before_nanoseconds, 100);
  EXPECT_EQ(report.after_nanoseconds, 70);
  EXPECT_EQ(report.steps.size(), 2U);
  ASSERT_EQ(report.rules.size(), 2U);
  EXPECT_EQ(report.rules[0].matched, 4U);
  EXPECT_EQ(report.rules[0].applied, 2U);
  EXPECT_EQ(report.nodes_before, 5U);
  EXPECT_EQ(report.nodes_after, 3U);
  EXPECT_EQ(report.constant_bytes_before, 1000U);
  EXPECT_EQ(report.constant_bytes_after, 900U);
  EXPECT_EQ(report.states, 600U);
  EXPECT_EQ(report.seconds, 8);
}

TEST(Rounds, ARoundThatFindsNothingLeavesTheResult) {
  OptimizeReport report = first_round();
  OptimizeReport second;
  second.states = 20;
  second.stop_reason = "no state left within alpha of the best";
  add_round(report, second);
  EXPECT_EQ(report.after_nanoseconds, 80);
  EXPECT_EQ(report.nodes_after, 4U);
  EXPECT_EQ(report.states, 320U);
  EXPECT_EQ(report.stop_reason, "no state left within alpha of the best");
}

TEST(Rounds, ShareABudgetOfTimeButNotOneOfStates) {
  OptimizeOptions options;
  options.max_states = 300;
  EXPECT_EQ(options_of_next_round(options, first_round())->max_states, 300U);
  EXPECT_FALSE(options_of_next_round(options, first_round())->max_seconds);
  options.max_seconds = 10;
  EXPECT_EQ(options_of_next_round(options, first_round())->max_seconds, 7) << "timing kernels does not count";
  options.max_seconds = 3;
  EXPECT_FALSE(options_of_next_round(options, first_round()));
}

TEST(Rounds, ShareTheTimeOfRunningWholeModels) {
  OptimizeOptions options;
  options.max_states = 300;
  options.max_measure_seconds = 60;
  OptimizeReport report = first_round();
  report.end_to_end.run = true;
  report.end_to_end.seconds = 20;
  EXPECT_EQ(options_of_next_round(options, report)->max_measure_seconds, 40);
  report.end_to_end.seconds = 60;
  EXPECT_FALSE(options_of_next_round(options, report));
  options.max_seconds = 10;
  report.end_to_end.seconds = 2;
  EXPECT_EQ(options_of_next_round(options, report)->max_seconds, 9) << "running whole models does not count as searching";
}

TEST(Rounds, AreRunAgainstTheOneBeforeAndSaySo) {
  OptimizeReport report = first_round();
  report.end_to_end.run = true;
  report.end_to_end.seconds = 5;
  OptimizeReport second = first_round();
  second.end_to_end.run = true;
  second.end_to_end.seconds = 3;
  second.end_to_end.comparisons.emplace_back();
  second.end_to_end.comparisons.back().ratio = 0.9;
  second.end_to_end.comparisons.back().low = 0.88;
  second.end_to_end.comparisons.back().high = 0.92;
  second.end_to_end.comparisons.back().pairs = 39;
  add_round(report, second);
  OptimizeReport third = second;
  third.improved = false;
  third.reason = "run from end to end, it is slower";
  add_round(report, third);
  EXPECT_EQ(report.end_to_end.seconds, 11);
  EXPECT_TRUE(report.end_to_end.comparisons.empty()) << "those with the original";
  ASSERT_EQ(report.end_to_end.later.size(), 1U);
  EXPECT_EQ(report.end_to_end.later[0], "0.900 of the time of the result before [0.880, 0.920] in 39 pairs");
  ASSERT_EQ(report.end_to_end.others.size(), 1U);
  EXPECT_EQ(report.end_to_end.others[0], "another search on the result, against the result: run from end to end, it is slower");
}

TEST(Rounds, TogetherGrowNoMoreThanOneMay) {
  OptimizeOptions options;
  options.max_states = 300;
  options.max_growth = 0.05;
  EXPECT_NEAR(options_of_next_round(options, first_round())->max_growth, 1050.0 / 1040 - 1, 1e-9);
  options.max_growth = 0;
  EXPECT_EQ(options_of_next_round(options, first_round())->max_growth, 0);
}

}  // namespace
}  // namespace xflow::api
