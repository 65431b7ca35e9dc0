// Which splits and slices are views.
#include "src/kernels/view_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "src/ops/kernel_text.h"

namespace xflow::cost {
namespace {

using Offsets = std::vector<std::size_t>;

std::optional<Offsets> offsets_of(const std::string& kernel) { return view_offsets(ops::parse_kernel(kernel).value()); }

TEST(ViewOffsets, OfASplitAreWhereItsPartsBegin) {
  EXPECT_EQ(offsets_of("copy:split(float32[6,4]) -> float32[2,4], float32[1,4], float32[3,4] axis=[0] sizes=[2,1,3]"),
            (Offsets{0, 32, 48}));
  EXPECT_EQ(offsets_of("copy:split(float16[1,1,8]) -> float16[1,1,2], float16[1,1,6] axis=[2] sizes=[2,6]"), (Offsets{0, 4}));
  EXPECT_EQ(offsets_of("copy:split(float32[1,8,5]) -> float32[1,0,5], float32[1,8,5] axis=[1] sizes=[0,8]"), (Offsets{0, 0}));
  EXPECT_EQ(offsets_of("copy:split(float32[2,8]) -> float32[2,4], float32[2,4] axis=[1] sizes=[4,4]"), std::nullopt);
  EXPECT_EQ(offsets_of("copy:split(float32[0,8]) -> float32[0,8], float32[0,8] axis=[0] sizes=[0,0]"), std::nullopt);
}

TEST(ViewOffsets, OfASliceIsWhereItBegins) {
  const auto slice = [](const std::string& from, const std::string& to, const std::string& attributes) {
    return offsets_of(fmt::format("copy:slice(float32[{}]) -> float32[{}] {}", from, to, attributes));
  };
  EXPECT_EQ(slice("6,4", "2,4", "starts=[3,0] sizes=[2,4] steps=[1,1]"), Offsets{48});
  EXPECT_EQ(slice("6,4", "1,2", "starts=[3,1] sizes=[1,2] steps=[1,1]"), Offsets{52});
  EXPECT_EQ(slice("6,4", "1,1", "starts=[5,3] sizes=[1,1] steps=[-1,7]"), Offsets{92}) << "one element, whatever the steps";
  EXPECT_EQ(slice("6,4", "2,2", "starts=[3,1] sizes=[2,2] steps=[1,1]"), std::nullopt);
  EXPECT_EQ(slice("6,4", "2,4", "starts=[0,0] sizes=[2,4] steps=[2,1]"), std::nullopt);
  EXPECT_EQ(slice("6,4", "6,1", "starts=[0,0] sizes=[6,1] steps=[1,1]"), std::nullopt);
  EXPECT_EQ(slice("6,4", "0,4", "starts=[6,0] sizes=[0,4] steps=[1,1]"), std::nullopt);
}

TEST(ViewOffsets, OfOtherKernelsAreNone) {
  EXPECT_EQ(offsets_of("copy:concat(float32[1,2], float32[1,2]) -> float32[1,4] axis=[1]"), std::nullopt);
  EXPECT_EQ(offsets_of("pointwise/relu(float32[4]) -> float32[4]"), std::nullopt);
}

// A slice is contiguous exactly if the indices of its elements follow each other.
TEST(ViewOffsets, AgreeWithTheElementsOfSlices) {
  std::mt19937 random(3);
  int views = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::int64_t> dims, starts, sizes, steps;
    for (int k = 0; k < 3; ++k) {
      dims.push_back(1 + random() % 3);
      steps.push_back(random() % 3 == 0 ? 2 : 1);
      sizes.push_back(1 + random() % static_cast<unsigned>((dims[k] + steps[k] - 1) / steps[k]));
      starts.push_back(random() % static_cast<unsigned>(dims[k] - (sizes[k] - 1) * steps[k]));
    }
    std::vector<std::int64_t> elements;
    for (std::int64_t a = 0; a < sizes[0]; ++a)
      for (std::int64_t b = 0; b < sizes[1]; ++b)
        for (std::int64_t c = 0; c < sizes[2]; ++c)
          elements.push_back(((starts[0] + a * steps[0]) * dims[1] + starts[1] + b * steps[1]) * dims[2] + starts[2] + c * steps[2]);
    bool contiguous = true;
    for (std::size_t k = 1; k < elements.size(); ++k) contiguous = contiguous && elements[k] == elements[k - 1] + 1;
    const auto list = [](const std::vector<std::int64_t>& v) { return fmt::format("[{},{},{}]", v[0], v[1], v[2]); };
    const std::string kernel = fmt::format("copy:slice(float32{}) -> float32{} starts={} sizes={} steps={}", list(dims), list(sizes),
                                           list(starts), list(sizes), list(steps));
    const auto offsets = offsets_of(kernel);
    if (offsets) {
      ++views;
      EXPECT_TRUE(contiguous) << kernel;
      EXPECT_EQ((*offsets)[0], static_cast<std::size_t>(4 * elements[0])) << kernel;
    } else {
      EXPECT_FALSE(contiguous) << kernel;
    }
  }
  EXPECT_GT(views, 1000);
}

TEST(ViewSupport, CoversItsOperatorsAtItsAlignment) {
  const auto kernel = [](const std::string& text) { return ops::parse_kernel(text).value(); };
  const ops::KernelSpec rows = kernel("copy:split(float32[4,8]) -> float32[2,8], float32[2,8] axis=[0] sizes=[2,2]");
  const ops::KernelSpec slice = kernel("copy:slice(float32[4,8]) -> float32[1,8] starts=[1,0] sizes=[1,8] steps=[1,1]");
  EXPECT_FALSE(ViewSupport().covers(rows));
  ops::KernelSpec of_constant = rows;  // of open sizes, which are not folded before the run
  of_constant.operands[0].constant = true;
  EXPECT_FALSE((ViewSupport{{ops::Op::Split}, 64}.covers(of_constant)));
  EXPECT_TRUE((ViewSupport{{ops::Op::Split}, 64}.covers(rows)));
  EXPECT_FALSE((ViewSupport{{ops::Op::Split}, 128}.covers(rows)));
  EXPECT_FALSE((ViewSupport{{ops::Op::Split}, 1}.covers(slice)));
  EXPECT_TRUE((ViewSupport{{ops::Op::Slice, ops::Op::Split}, 32}.covers(slice)));
}

}  // namespace
}  // namespace xflow::cost
