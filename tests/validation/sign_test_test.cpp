#include "src/validation/sign_test.h"

#include <gtest/gtest.h>

namespace xflow::cost {
namespace {

TEST(SignTest, IsTheTailOfTheBinomialDistribution) {
  EXPECT_DOUBLE_EQ(sign_test(0, 0), 1);
  EXPECT_NEAR(sign_test(0, 7), 1, 1e-12);
  EXPECT_NEAR(sign_test(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(sign_test(3, 3), 0.125, 1e-12);
  EXPECT_NEAR(sign_test(2, 3), 0.5, 1e-12);
  EXPECT_NEAR(sign_test(12, 15), 576.0 / 32768, 1e-12);  // 455 + 105 + 15 + 1
  EXPECT_NEAR(sign_test(5000, 10000), 0.5, 0.01);
}

}  // namespace
}  // namespace xflow::cost
