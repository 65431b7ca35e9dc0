// A profile beside measured times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/devices/profile/compare.h"
#include "tests/devices/gpu_profile.h"

namespace xflow::cost::profile {
namespace {

using testing::gpu_profile;

constexpr std::string_view kRoofline = "roofline launch 1000\nroofline bandwidth 1e+30\nroofline peak float32 2e+9\n";

// A product with a bias. 2 · 5 · n operations take 5 · n ns on kRoofline.
std::string product(double time, int n, std::string_view kind = "kernel", int m = 5) {
  return fmt::format(
      "{0} plain plain plain {1} 0 1 0 1 matmul(float32[{3},1], const float32[1,{2}]) -> float32[{3},{2}] | add(const float32[{2}])\n",
      kind, time, n, m);
}
std::string softmax(double time, int n) {
  return fmt::format("kernel plain plain plain {0} 0 1 0 1 softmax(float32[{1},4]) -> float32[{1},4] axis=[1]\n", time, n);
}

TEST(Comparison, HasErrorsByClassApartFromModelledOnes) {
  std::string known;
  for (int n = 1; n <= 10; ++n) known += softmax(1000.0 * n, n);
  const auto result = compare(gpu_profile(known + product(110, 4)),
                              gpu_profile(softmax(1000, 1) + softmax(1600, 2) + softmax(40000, 20) + product(100, 4)));
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->errors.size(), 5U);
  const auto expect = [&](std::size_t row, std::string_view name, bool modelled, std::size_t kernels, double median, double mean) {
    const ProfileErrors& errors = result->errors[row];
    EXPECT_EQ(errors.kernels_of, name);
    EXPECT_EQ(errors.modelled, modelled);
    EXPECT_EQ(errors.kernels, kernels);
    EXPECT_NEAR(errors.median, median, 1e-9);
    EXPECT_NEAR(errors.mean, mean, 1e-9);
    EXPECT_FALSE(errors.roofline);
  };
  expect(0, "matmul float32", false, 1, 0.1, 0.1);
  expect(1, "softmax float32", false, 2, 0.125, 0.125);  // 0 and 0.25
  expect(2, "all", false, 3, 0.1, 0.35 / 3);
  // The model predicts about 20,000 instead of 40,000.
  EXPECT_EQ(result->errors[3].kernels_of, "softmax float32");
  EXPECT_TRUE(result->errors[3].modelled);
  EXPECT_NEAR(result->errors[3].mean, 0.5, 0.05);
  EXPECT_EQ(result->errors[4].kernels_of, "all");
}

TEST(Comparison, LeavesOutWhatHasNoTime) {
  const auto result =
      compare(gpu_profile(product(100, 4)), gpu_profile(product(90, 3, "at_floor") + product(90, 2, "contradicted") + product(100, 4) +
                                                        softmax(5, 1) + "refused plain softmax(float32[2]) -> float32[2]\tno kernel\n"));
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->at_floor, 1U);
  EXPECT_EQ(result->contradicted, 1U);
  EXPECT_EQ(result->refused, 1U);
  EXPECT_EQ(result->errors.back().kernels, 1U);
  const auto nothing = compare(gpu_profile(product(100, 4)), gpu_profile(softmax(5, 1)));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().text(), "no measured kernel has a time in the profile");
}

TEST(Comparison, HasTheRooflineBesideTheProfile) {
  const auto result = compare(gpu_profile(std::string(kRoofline) + product(100, 4)), gpu_profile(product(510, 4)));
  ASSERT_TRUE(result && result->errors[0].roofline);
  // 1,000 ns, 20 for the products and 10 for the bias.
  EXPECT_NEAR(*result->errors[0].roofline, 1030.0 / 510 - 1, 1e-9);
}

// Of products with 1, 2, 3, 4 and 6 columns: 1 + 1 = 2, 1 + 2 = 3, 1 + 3 = 4, 2 + 2 = 4, 2 + 4 = 6, 3 + 3 = 6.
TEST(SignOfMerges, IsThatOfTheMeasuredTimes) {
  const std::string measured = product(100, 1) + product(205, 2) + product(250, 3) + product(500, 4) + product(480, 6);
  // One is quicker for 1 + 2 (250 < 305), 2 + 4 (480 < 705) and 3 + 3 (480 < 500 is within 5 %); two for 1 + 3
  // (500 > 350) and 2 + 2 (500 > 410). 1 + 1 (205 > 200) is within 5 %.
  const auto same = compare(gpu_profile(std::string(kRoofline) + measured), gpu_profile(measured));
  ASSERT_TRUE(same);
  ASSERT_EQ(same->merges.size(), 2U);
  EXPECT_FALSE(same->merges[0].modelled);
  EXPECT_EQ(same->merges[0].pairs, 6U);
  EXPECT_EQ(same->merges[0].decided, 4U);
  EXPECT_EQ(same->merges[0].one_is_quicker, 2U);
  EXPECT_EQ(same->merges[0].right, 4U);
  EXPECT_EQ(same->merges[0].roofline_right, 2U);  // a launch less is always quicker
  EXPECT_EQ(same->merges[1].pairs, 0U);
  // A profile in which 4 columns take as long as 3.
  const std::string other = product(100, 1) + product(205, 2) + product(250, 3) + product(250, 4) + product(480, 6);
  const auto wrong = compare(gpu_profile(other), gpu_profile(measured));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->merges[0].decided, 4U);
  EXPECT_EQ(wrong->merges[0].right, 1U);  // 1 + 2; of 2 + 4, two take 455 in this profile
  EXPECT_FALSE(wrong->merges[0].roofline_right);
}

TEST(SignOfMerges, IsOfProductsThatDifferInColumnsAlone) {
  const std::string measured = product(100, 1) + product(250, 2, "kernel", 6) +
                               "kernel plain plain plain 100 0 1 0 1 matmul(float32[5,1], const float32[1,2]) -> float32[5,2]\n";
  const auto result = compare(gpu_profile(measured), gpu_profile(measured));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->merges[0].pairs, 0U);
}

TEST(SignOfMerges, IsModelledIfAnyTimeIs) {
  const std::string measured = product(100, 1) + product(150, 2);
  const auto result = compare(gpu_profile(std::string(kRoofline) + product(100, 1)), gpu_profile(measured));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->merges[0].pairs, 0U);
  EXPECT_EQ(result->merges[1].pairs, 1U);
  EXPECT_TRUE(result->merges[1].modelled);
}

}  // namespace
}  // namespace xflow::cost::profile
