// Boxes that meet another one are found where they are, and numbers of boxes do not change.
#include "src/parallel/box_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace xflow::parallel {
namespace {

// Intervals of a dimension of `size` elements, some of which no interval has.
std::vector<Interval> intervals(std::mt19937& random, std::int64_t size) {
  std::vector<Interval> made;
  std::int64_t at = 0;
  while (at < size) {
    const auto begin = at + static_cast<std::int64_t>(random() % 3 == 0 ? random() % 2 : 0);
    at = begin + 1 + static_cast<std::int64_t>(random() % 3);
    if (at <= size) made.push_back({begin, at});
  }
  return made;
}

std::vector<Box> grid_of(const std::vector<std::vector<Interval>>& dimensions) {
  std::vector<Box> boxes = {{}};
  for (const auto& own : dimensions) {
    std::vector<Box> next;
    for (const Box& box : boxes) {
      for (const Interval& interval : own) {
        next.push_back(box);
        next.back().push_back(interval);
      }
    }
    boxes = std::move(next);
  }
  return boxes;
}

TEST(BoxGrid, FindsTheBoxesThatMeetAnother) {
  std::mt19937 random(1);
  std::size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<Interval>> dimensions(random() % 4);
    for (auto& own : dimensions) own = intervals(random, 7);
    std::vector<Box> boxes = grid_of(dimensions);
    std::ranges::shuffle(boxes, random);
    const auto grid = BoxGrid::of(boxes);
    ASSERT_EQ(grid.has_value(), !boxes.empty());
    if (!grid) continue;
    for (int k = 0; k < 20; ++k) {
      Box box;
      for (std::size_t d = 0; d < dimensions.size(); ++d) {
        const auto begin = static_cast<std::int64_t>(random() % 8);
        box.push_back({begin, begin + 1 + static_cast<std::int64_t>(random() % 5)});
      }
      std::vector<std::uint32_t> expected;
      for (std::uint32_t at = 0; at < boxes.size(); ++at)
        if (intersection(boxes[at], box)) expected.push_back(at);
      EXPECT_EQ(grid->meeting(box), expected);
      found += expected.size();
    }
  }
  EXPECT_GT(found, 1000U);
}

TEST(BoxGrid, IsNoneOfOtherBoxes) {
  EXPECT_FALSE(BoxGrid::of({}));
  EXPECT_TRUE(BoxGrid::of(std::vector<Box>{{}}));
  EXPECT_TRUE(BoxGrid::of(std::vector<Box>{{{0, 2}}, {{2, 3}}}));
  EXPECT_FALSE(BoxGrid::of(std::vector<Box>{{{0, 2}}, {{1, 3}}})) << "they meet";
  EXPECT_FALSE(BoxGrid::of(std::vector<Box>{{{0, 2}}, {{2, 2}}})) << "one has no elements";
  EXPECT_FALSE(BoxGrid::of(std::vector<Box>{{{0, 2}}, {{0, 2}}})) << "one is there twice";
  EXPECT_FALSE(BoxGrid::of(std::vector<Box>{{{0, 2}, {0, 1}}, {{2, 3}, {1, 2}}})) << "a diagonal";
  EXPECT_FALSE(BoxGrid::of(std::vector<Box>{{{0, 2}, {0, 1}}, {{0, 2}, {0, 1}}, {{2, 3}, {1, 2}}, {{2, 3}, {0, 1}}})) << "one is missing";
}

TEST(NumberedBoxes, HaveTheNumbersInWhichTheyCame) {
  NumberedBoxes boxes;
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t k = 0; k < 40; ++k) EXPECT_EQ(boxes.number({{k / 7, k / 7 + 1}, {k % 7, 9}}), k);
  EXPECT_EQ(boxes[39], (Box{{5, 6}, {4, 9}}));
}

}  // namespace
}  // namespace xflow::parallel
