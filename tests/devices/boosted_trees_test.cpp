// Sums of regression trees.
#include "src/devices/profile/boosted_trees.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace xflow::cost::profile {
namespace {

class Numbers {
 public:
  explicit Numbers(unsigned seed) : random_(seed) {}
  double next() { return static_cast<double>(random_()) / 4294967296.0; }

 private:
  std::mt19937 random_;
};

// Two numbers in [0, 1), one that is a copy of the first in another unit, one that is always the same, and one that tells nothing.
NumberTable rows_of(unsigned seed, std::size_t count) {
  Numbers random(seed);
  NumberTable rows;
  for (std::size_t k = 0; k < count; ++k) {
    const double a = random.next();
    rows.add(std::array{a, random.next(), 1000 * a, 7.0, random.next()});
  }
  return rows;
}

// A step in one number, a curve in the other, and their product.
double target_of(std::span<const double> row) { return (row[0] > 0.3 ? 1.0 : 0.0) + std::sin(6 * row[1]) + row[0] * row[1]; }

std::vector<double> targets_of(const NumberTable& rows) {
  std::vector<double> targets;
  for (std::size_t k = 0; k < rows.rows(); ++k) targets.push_back(target_of(rows.row(k)));
  return targets;
}

TEST(BoostedTrees, PredictRowsThatTheyWereNotFittedTo) {
  const NumberTable rows = rows_of(1, 3000);
  const BoostedTrees trees(rows, targets_of(rows));
  const NumberTable others = rows_of(2, 500);
  double error = 0;
  for (std::size_t k = 0; k < others.rows(); ++k) error += std::abs(trees.value_of(others.row(k)) - target_of(others.row(k))) / 500;
  EXPECT_LT(error, 0.03);
  EXPECT_GT(trees.value_of(std::array{0.4, 0.5, 400.0, 7.0, 0.5}) - trees.value_of(std::array{0.2, 0.5, 200.0, 7.0, 0.5}), 0.9);
}

TEST(BoostedTrees, AreTheSameForTheSameRows) {
  const NumberTable rows = rows_of(1, 500);
  const BoostedTrees one(rows, targets_of(rows));
  const BoostedTrees other(rows, targets_of(rows));
  for (std::size_t k = 0; k < rows.rows(); ++k) EXPECT_EQ(one.value_of(rows.row(k)), other.value_of(rows.row(k)));
}

TEST(BoostedTrees, ApproachTheMeanWhereNothingIsToBeLearned) {
  // Too few rows for a split, and rows that are all the same.
  NumberTable few = rows_of(1, 20);
  EXPECT_NEAR(BoostedTrees(few, std::vector<double>(20, 3.0)).value_of(few.row(0)), 3, 1e-6);
  NumberTable same;
  std::vector<double> targets;
  for (int k = 0; k < 1000; ++k) {
    same.add(std::array{1.0, 2.0});
    targets.push_back(k % 2 == 0 ? 1 : 2);
  }
  EXPECT_NEAR(BoostedTrees(same, targets).value_of(same.row(0)), 1.5, 1e-6);
  // Beyond the rows the value is that at their edge.
  const NumberTable rows = rows_of(1, 500);
  const BoostedTrees trees(rows, targets_of(rows));
  EXPECT_EQ(trees.value_of(std::array{5.0, 0.5, 5000.0, 7.0, 0.5}), trees.value_of(std::array{50.0, 0.5, 50000.0, 8.0, 0.5}));
}

// What a single row is off by is shared by its neighbours.
TEST(BoostedTrees, NeverSplitPartsOfFewerThanTwentyRows) {
  NumberTable rows;
  std::vector<double> targets;
  for (int k = 0; k < 400; ++k) {
    rows.add(std::array{static_cast<double>(k)});
    targets.push_back(k == 0 ? 100 : 0);  // a single outlier
  }
  const BoostedTrees trees(rows, targets);
  EXPECT_EQ(trees.value_of(std::array{0.0}), trees.value_of(std::array{15.0}));
  EXPECT_NEAR(trees.value_of(std::array{0.0}), 5, 0.6);
  EXPECT_NEAR(trees.value_of(std::array{300.0}), 0, 0.1);
}

}  // namespace
}  // namespace xflow::cost::profile
