// Steps of weights against their derivatives.
#include "src/policy/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace xflow::policy {
namespace {

struct Weights {
  std::vector<Matrix> weights = {Matrix(1, 2)};
  std::vector<Matrix> moments = weights;
  std::vector<Matrix> variances = weights;

  bool move(float first, float second, std::uint64_t number) {
    Matrix derivatives(1, 2);
    derivatives.values = {first, second};
    return move_weights({weights, moments, variances}, std::span(&derivatives, 1), number, 0.01);
  }
};

TEST(Adam, MovesEachWeightByTheRateAgainstItsDerivative) {
  Weights own;
  EXPECT_TRUE(own.move(0.5F, -1e-3F, 1));
  EXPECT_NEAR(-0.01, own.weights[0].values[0], 1e-6);
  EXPECT_NEAR(0.01, own.weights[0].values[1], 1e-6);
}

TEST(Adam, FindsTheLeastOfASquare) {
  Weights own;
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    const std::vector<float> at = own.weights[0].values;
    ASSERT_TRUE(own.move(2 * (at[0] - 1), 2 * (at[1] + 0.5F), step));
  }
  EXPECT_NEAR(1, own.weights[0].values[0], 0.01);
  EXPECT_NEAR(-0.5, own.weights[0].values[1], 0.01);
}

TEST(Adam, RefusesDerivativesThatAreNotFinite) {
  Weights own;
  EXPECT_FALSE(own.move(std::numeric_limits<float>::quiet_NaN(), 0, 1));
  EXPECT_FALSE(own.move(std::numeric_limits<float>::infinity(), 0, 1));
  EXPECT_EQ(std::vector<float>(2), own.weights[0].values);
}

}  // namespace
}  // namespace xflow::policy
