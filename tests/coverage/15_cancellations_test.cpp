#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Movements of data that undo one another.
class Cancellations : public Coverage {
 protected:
  const ValueId x = input("x", {dim("N", 2), 6, 4});
};

TEST_F(Cancellations, OfTransposes) {
  const ValueId turned = transpose(transpose(transpose(x, {1, 2, 0}), {1, 2, 0}), {1, 2, 0});
  EXPECT_EQ(search({relu(turned)}).form, "v1 = relu(x); v1");
}

TEST_F(Cancellations, OfTransposesAroundAnActivation) {
  EXPECT_EQ(search({transpose(relu(transpose(x, {2, 0, 1})), {1, 2, 0})}).form, "v1 = relu(x); v1");
}

TEST_F(Cancellations, OfReshapes) {
  const Poly n = dim("N", 2);
  const ValueId back = reshape(reshape(reshape(x, {n * 2, 3, 4}), {n, 24}), {n, 6, 4});
  EXPECT_EQ(search({relu(back)}).form, "v1 = relu(x); v1");
  EXPECT_EQ(count(search({relu(back)}, {.without = {"reshape-of-reshape"}}).graph, "reshape"), 3U);
}

TEST_F(Cancellations, OfSplitAndConcatenation) {
  const std::vector<ValueId> parts = split(x, 1, {1, 2, 3});
  EXPECT_EQ(search({relu(concat(parts, 1))}).form, "v1 = relu(x); v1");
  const ValueId z = input("z", {dim("N", 2), 5, 4});
  const std::vector<ValueId> undone = split(concat({x, z}, 1), 1, {6, 5});
  EXPECT_EQ(search({relu(undone[1]), relu(undone[0])}).form, "v1 = relu(z); v2 = relu(x); v1, v2");
}

TEST_F(Cancellations, OfSplitsInOneAnother) {
  const auto nested = [&](std::vector<Poly> sizes, const std::vector<Poly>& first, const std::vector<Poly>& second) {
    const std::vector<ValueId> parts = split(x, 1, std::move(sizes));
    std::vector<ValueId> all = first.empty() ? std::vector{parts[0]} : split(parts[0], 1, first);
    const std::vector<ValueId> rest = second.empty() ? std::vector{parts[1]} : split(parts[1], 1, second);
    all.insert(all.end(), rest.begin(), rest.end());
    return search(all).form;
  };
  EXPECT_EQ(nested({4, 2}, {3, 1}, {}), "v1 = split(x); v1.0, v1.1, v1.2");
  EXPECT_EQ(nested({4, 2}, {2, 1, 1}, {}), "v1 = split(x); v1.0, v1.1, v1.2, v1.3");
  EXPECT_EQ(nested({1, 5}, {}, {3, 2}), "v1 = split(x); v1.0, v1.1, v1.2");
  EXPECT_EQ(nested({1, 5}, {}, {1, 2, 2}), "v1 = split(x); v1.0, v1.1, v1.2, v1.3");
  EXPECT_EQ(nested({3, 3}, {1, 2}, {2, 1}), "v1 = split(x); v1.0, v1.1, v1.2, v1.3");
}

TEST_F(Cancellations, OfSliceAndConcatenation) {
  const Poly n = dim("N", 2);
  const ValueId z = input("z", {n, 5, 4});
  EXPECT_EQ(search({relu(slice(concat({x, z}, 1), {0, 6, 0}, {n, 5, 4}))}).form, "v1 = relu(z); v1");
  EXPECT_EQ(search({relu(concat({slice(x, {0, 0, 0}, {n, 2, 4}), slice(x, {0, 2, 0}, {n, 4, 4})}, 1))}).form, "v1 = relu(x); v1");
}

TEST_F(Cancellations, OfPaddingAndConvolution) {
  const ValueId padded = op("pad", {x}, {{"begins", std::vector<Poly>{0, 0, 1}}, {"ends", std::vector<Poly>{0, 0, 2}}});
  EXPECT_EQ(search({conv(padded, weight({3, 6, 3}))}).form, "v1 = conv(x, [3, 6, 3]); v1");
}

TEST_F(Cancellations, OfPaddingAndSlice) {
  const Poly n = dim("N", 2);
  const ValueId padded = op("pad", {x}, {{"begins", std::vector<Poly>{0, 1, 1}}, {"ends", std::vector<Poly>{0, 2, 1}}});
  EXPECT_EQ(search({relu(slice(padded, {0, 1, 1}, {n, 6, 4}))}).form, "v1 = relu(x); v1");
}

}  // namespace
}  // namespace xflow::coverage
