// Errors of modelled prices, as estimated from held-out kernels.
#include "src/devices/profile/error_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/kernels/device.h"

namespace xflow::cost::profile {
namespace {

class Random {
 public:
  double uniform() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (static_cast<double>(state_ >> 11U) + 0.5) / 9007199254740992.0;
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::uint64_t state_ = 1;
};

TEST(ErrorModel, HoldsNineTenthsOfTheErrorsInItsIntervals) {
  // Normal errors, and ones of which a few are far too large.
  for (const bool heavy : {false, true}) {
    Random random;
    std::vector<HeldOutError> errors;
    for (std::size_t k = 0; k < 2'000; ++k) {
      const double scale = heavy && k % 20 == 0 ? 5 : 1;
      errors.push_back({{static_cast<double>(k), 0, 0, 0}, k, 0.5, 0.1 * scale * random.normal()});
    }
    const ErrorModel model = fit_errors(errors);
    std::size_t within = 0;
    for (const HeldOutError& each : errors)
      if (std::abs(each.error) <= 1.6449 * model.deviation(each.alone)) ++within;
    EXPECT_NEAR(static_cast<double>(within) / 2'000, 0.9, 0.01) << heavy;
    if (!heavy) {
      EXPECT_NEAR(model.deviation(0.5), 0.1, 0.01);
    }
  }
}

TEST(ErrorModel, IsLessSureFarFromMeasuredKernels) {
  Random random;
  std::vector<HeldOutError> errors;
  for (std::size_t k = 0; k < 2'000; ++k) {
    const double alone = k % 2 == 0 ? 0.05 : 1;
    errors.push_back({{static_cast<double>(k), 0, 0, 0}, k, alone, (k % 2 == 0 ? 0.05 : 0.4) * random.normal()});
  }
  const ErrorModel model = fit_errors(errors);
  EXPECT_GT(model.deviation(1), 0.3);
  EXPECT_LT(model.deviation(0), 0.15);
  EXPECT_LT(model.deviation(0.05), model.deviation(0.5));
}

TEST(ErrorModel, KnowsThatErrorsOfSimilarKernelsAreAlike) {
  for (const bool alike : {false, true}) {
    Random random;
    std::vector<HeldOutError> errors;
    double group = 0;
    for (std::size_t k = 0; k < 400; ++k) {
      if (k % 4 == 0) group = random.normal();
      const double error = alike ? 0.2 * group + 0.02 * random.normal() : 0.2 * random.normal();
      // Four kernels within a tenth, and other ones far away.
      errors.push_back({{10 * static_cast<double>(k / 4) + 0.03 * static_cast<double>(k % 4), 0, 0, 0}, k, 0.5, error});
    }
    const ErrorModel model = fit_errors(errors);
    if (alike) {
      EXPECT_GT(model.correlation_at(0.05), 0.6);
    } else {
      EXPECT_LT(model.correlation_at(0.05), 0.25);
    }
    EXPECT_LT(model.correlation_at(50), 0.3);
  }
}

TEST(ErrorModel, OfFewErrorsIsThatOfAllOfThem) {
  const ErrorModel model = fit_errors({{{}, 1, 0.2, 0.1}, {{}, 2, 0.9, -0.1}, {{}, 3, 0.5, 0.1}});
  EXPECT_NEAR(model.deviation(0), 0.1, 1e-9);
  EXPECT_EQ(model.deviation(0), model.deviation(1));
  EXPECT_EQ(model.correlation_at(0), 0);
}

TEST(VarianceOfSum, IsSmallerForADifferenceOfSimilarKernels) {
  const ErrorModel model{0.2, 0, 0.9, 1};
  const ErrorModel other{0.2, 0, 0.9, 1};
  using Terms = std::vector<std::pair<TermError, double>>;
  const TermError a{&model, 0.2, {}};
  const TermError b{&model, 0.2, {0.1, 0, 0, 0}};
  const double difference = variance_of_sum(Terms{{a, 100}, {b, -100}});
  const double sum = variance_of_sum(Terms{{a, 100}, {b, 100}});
  EXPECT_NEAR(difference, 2 * 400 * (1 - 0.9 * std::exp(-0.1)), 1e-9);
  EXPECT_NEAR(difference + sum, 4 * 400, 1e-9);
  // Kernels of different models, and measured ones, have errors of their own.
  EXPECT_NEAR(variance_of_sum(Terms{{a, 100}, {TermError{&other, 0.2, {}}, -100}}), 2 * 400, 1e-9);
  EXPECT_NEAR(variance_of_sum(Terms{{TermError{nullptr, 0.01, {}}, 100}, {TermError{nullptr, 0.01, {}}, -100}}), 2, 1e-9);
}

TEST(Sureness, IsTheProbabilityOfAGain) {
  EXPECT_DOUBLE_EQ(sureness_of(Nanoseconds(0), Nanoseconds(5)), 0.5);
  EXPECT_NEAR(sureness_of(Nanoseconds(5), Nanoseconds(5)), 0.8413, 1e-4);
  EXPECT_NEAR(sureness_of(Nanoseconds(-5), Nanoseconds(5)), 0.1587, 1e-4);
  EXPECT_EQ(sureness_of(Nanoseconds(1), Nanoseconds(0)), 1);
  EXPECT_EQ(sureness_of(Nanoseconds(-1), Nanoseconds(0)), 0);
}

TEST(IndependentDeviation, IsAPercentOrTheInterference) {
  KernelCost quiet;
  quiet.median = Nanoseconds(1'000);
  KernelCost loud = quiet;
  loud.interference = 0.5;
  const std::vector<WeightedPrice> prices = {{{}, Layout::plain, quiet, 2}, {{}, Layout::plain, loud, -1}};
  EXPECT_NEAR(independent_deviation(prices).count(), std::hypot(20.0, 500.0), 1e-9);
}

}  // namespace
}  // namespace xflow::cost::profile
