// How constants are made of each other.
#include "src/equivalence/links.h"

#include <gtest/gtest.h>

#include <vector>

namespace xflow::equivalence {
namespace {

struct Stored {
  std::vector<std::int64_t> dims;
  std::vector<double> values;
  Elements elements() const { return {dims, values}; }
};

Stored numbered(std::vector<std::int64_t> dims, double first) {
  Stored result{std::move(dims), {}};
  std::int64_t count = 1;
  for (const std::int64_t d : result.dims) count *= d;
  for (std::int64_t k = 0; k < count; ++k) result.values.push_back(first + static_cast<double>(k));
  return result;
}

TEST(Links, APartAlongAnAxis) {
  const Stored whole = numbered({2, 5}, 1);
  const Stored part{{2, 2}, {3, 4, 8, 9}};
  const auto found = find_part(part.elements(), whole.elements());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->permutation, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(found->starts, (std::vector<std::int64_t>{0, 2}));
}

TEST(Links, APartOfTheTransposed) {
  const Stored whole = numbered({2, 5}, 1);
  const Stored part{{2, 2}, {3, 8, 4, 9}};
  const auto found = find_part(part.elements(), whole.elements());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->permutation, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found->starts, (std::vector<std::int64_t>{2, 0}));
}

TEST(Links, AnotherElementIsNoPart) {
  const Stored whole = numbered({2, 5}, 1);
  const Stored part{{2, 2}, {3, 4, 8, 10}};
  EXPECT_FALSE(find_part(part.elements(), whole.elements()));
}

TEST(Links, BlocksOfAnAxisInTheirOrder) {
  const Stored a = numbered({2, 1}, 1);
  const Stored b = numbered({2, 2}, 11);
  const Stored whole{{2, 4}, {11, 12, 1, 1, 13, 14, 2, 2}};
  const std::vector<Elements> list = {a.elements(), b.elements()};
  const auto found = find_blocks(whole.elements(), list);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axis, 1U);
  ASSERT_EQ(found->blocks.size(), 3U);
  EXPECT_EQ(found->blocks[0].constant, 1U);
  EXPECT_EQ(found->blocks[1].constant, 0U);
  EXPECT_EQ(found->blocks[2].constant, 0U);
}

TEST(Links, BlocksPaddedWithZeros) {
  // A kernel of one element in the middle of three, below one of three.
  const Stored small{{1, 1}, {7}};
  const Stored large{{1, 3}, {1, 2, 3}};
  const Stored whole{{2, 3}, {1, 2, 3, 0, 7, 0}};
  const std::vector<Elements> list = {small.elements(), large.elements()};
  const auto found = find_blocks(whole.elements(), list);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axis, 0U);
  ASSERT_EQ(found->blocks.size(), 2U);
  EXPECT_EQ(found->blocks[0].constant, 1U);
  EXPECT_EQ(found->blocks[0].begins, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(found->blocks[1].constant, 0U);
  EXPECT_EQ(found->blocks[1].begins, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(found->blocks[1].ends, (std::vector<std::int64_t>{0, 1}));
}

TEST(Links, ElementsBesideABlockMustBeZero) {
  const Stored small{{1, 1}, {7}};
  const Stored whole{{1, 3}, {5, 7, 0}};
  const std::vector<Elements> list = {small.elements()};
  EXPECT_FALSE(find_blocks(whole.elements(), list));
}

}  // namespace
}  // namespace xflow::equivalence
