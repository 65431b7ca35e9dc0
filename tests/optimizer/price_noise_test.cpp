// A gain that is smaller than what prices may be wrong by is none.
#include <gtest/gtest.h>

#include "src/optimizer/shipping.h"

namespace xflow::api {
namespace {

OptimizeReport predicted(double before, double after) {
  OptimizeReport report;
  report.predicted.before = Nanoseconds(before);
  report.predicted.after = Nanoseconds(after);
  report.kernels.measured = 8;
  report.kernels.known = 2;
  return report;
}

TEST(PriceNoise, IsOnePercentAtLeast) {
  EXPECT_DOUBLE_EQ(price_noise({}), 0.01);
  EXPECT_DOUBLE_EQ(price_noise(predicted(1000, 900).kernels), 0.01);
}

TEST(PriceNoise, GrowsWithKernelsThatWereTimedUnderInterference) {
  OptimizeReport report = predicted(1000, 970);
  EXPECT_TRUE(above_noise(report, {}));
  report.kernels.provisional = 5;
  EXPECT_DOUBLE_EQ(price_noise(report.kernels), 0.06);
  EXPECT_EQ(above_noise(report, {}).reason, "the predicted gain of 3.00 % is below the noise of the prices, 6.00 %");
}

TEST(PriceNoise, HidesSmallerGains) {
  EXPECT_EQ(above_noise(predicted(1000, 995), {}).reason, "the predicted gain of 0.50 % is below the noise of the prices, 1.00 %");
  EXPECT_TRUE(above_noise(predicted(1000, 990), {}));
  EXPECT_EQ(above_noise(predicted(0, 0), {}).reason, "the predicted gain of 0.00 % is below the noise of the prices, 1.00 %");
}

TEST(PriceNoise, CountsWhatBuiltInSimplificationsSave) {
  std::vector<Simplification> simplifications(1);
  simplifications[0].gain = Nanoseconds{100};
  EXPECT_TRUE(above_noise(predicted(1000, 1000), simplifications));
}

TEST(NoSlower, IsEqualOrFasterAtEveryChoiceOfSizes) {
  GateReport run;
  EXPECT_FALSE(is_no_slower(run));
  run.run = true;
  run.comparisons.resize(2);
  run.comparisons[0].verdict = GateVerdict::faster;
  run.comparisons[1].verdict = GateVerdict::equal;
  EXPECT_TRUE(is_no_slower(run));
  for (const GateVerdict verdict : {GateVerdict::slower, GateVerdict::undecided, GateVerdict::failed}) {
    run.comparisons[1].verdict = verdict;
    EXPECT_FALSE(is_no_slower(run)) << to_string(verdict);
  }
}

}  // namespace
}  // namespace xflow::api
