// Where tensors are found in others.
#include "src/equivalence/values.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace xflow::equivalence {
namespace {

using eval::Tensor;

Tensor floats(std::vector<std::int64_t> dims, std::vector<double> values) {
  return Tensor::of_doubles(ir::DataType::float32, std::move(dims), std::move(values));
}

Tensor counted(std::vector<std::int64_t> dims) {
  std::vector<double> values(static_cast<std::size_t>(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>())));
  std::iota(values.begin(), values.end(), 1.0);
  return floats(std::move(dims), std::move(values));
}

TEST(FindRange, OfAnAxis) {
  const auto range = find_range(floats({2, 2, 2}, {3, 4, 5, 6, 11, 12, 13, 14}), counted({2, 4, 2}), 1e-6);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->axis, 1U);
  EXPECT_EQ(range->start, 1);
  EXPECT_FALSE(range->lacks_axis);
}

TEST(FindRange, OfOneElementOfAnAxisThatIsMissing) {
  const auto range = find_range(floats({2, 2}, {7, 8, 15, 16}), counted({2, 4, 2}), 1e-6);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->axis, 1U);
  EXPECT_EQ(range->start, 3);
  EXPECT_TRUE(range->lacks_axis);
  // The last axis is missing.
  const auto last = find_range(floats({2, 4}, {2, 4, 6, 8, 10, 12, 14, 16}), counted({2, 4, 2}), 1e-6);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->axis, 2U);
  EXPECT_EQ(last->start, 1);
}

TEST(FindRange, NeitherOfOtherElementsNorOfAllOfThem) {
  EXPECT_FALSE(find_range(floats({2, 2, 2}, {3, 4, 5, 6, 11, 12, 13, 15}), counted({2, 4, 2}), 1e-6));
  EXPECT_FALSE(find_range(counted({2, 4, 2}), counted({2, 4, 2}), 1e-6));
  EXPECT_FALSE(find_range(floats({1, 1, 2}, {3, 4}), counted({2, 4, 2}), 1e-6));  // of two axes
  EXPECT_FALSE(find_range(Tensor::of_integers(ir::DataType::int64, {2}, {3, 4}), counted({2, 2}), 1e-6));
}

TEST(ValueIndex, FindsWhatIsCloseInAnyShape) {
  ValueIndex index;
  const ir::ValueId first{ir::NodeId{1}, 0};
  const ir::ValueId second{ir::NodeId{2}, 0};
  index.add(first, counted({2, 4}));
  index.add(second, floats({2, 4}, {1, 2, 3, 4, 5, 6, 8, 7}));
  EXPECT_EQ(index.near(counted({8})), std::vector<ir::ValueId>{first});
  EXPECT_TRUE(index.near(counted({9})).empty());
}

TEST(Values, AreCloseByTheLargestMagnitude) {
  EXPECT_TRUE(Values::are_close(floats({2}, {1000, 1}), floats({2}, {1000, 1.005}), 1e-5));
  EXPECT_FALSE(Values::are_close(floats({2}, {1000, 1}), floats({2}, {1000, 1.02}), 1e-5));
  EXPECT_FALSE(Values::are_close(floats({2}, {1, 1}), floats({1}, {1}), 1e-5));
}

}  // namespace
}  // namespace xflow::equivalence
