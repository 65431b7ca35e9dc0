#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Linear operators on the small side of a mean.
class Means : public Coverage {
 protected:
  const Poly n = dim("N", 2);
  const Poly s = dim("S", 5);
  const ValueId x = input("x", {n, s, 8});
  ValueId mean(ValueId v, std::vector<Poly> axes, std::int64_t keep_dims) {
    return op("reduce_mean", {v}, {{"axes", std::move(axes)}, {"keep_dims", Poly(keep_dims)}});
  }
};

TEST_F(Means, OfRowsAreTakenBeforeAProduct) {
  const ValueId projected = add(matmul(x, weight({8, 16})), weight({16}));
  EXPECT_EQ(search({mean(projected, {1}, 0)}).form, "v1 = reduce_mean(x); v2 = matmul(v1, [8, 16]); v3 = add(v2, [16]); v3");
  EXPECT_EQ(search({mean(projected, {1}, 1)}).form, "v1 = reduce_mean(x); v2 = matmul(v1, [8, 16]); v3 = add(v2, [16]); v3");
  EXPECT_EQ(search({mean(projected, {1}, 0)}, {.without = {"mean-of-product-without-axis"}}).form,
            "v1 = matmul(x, [8, 16]); v2 = add(v1, [16]); v3 = reduce_mean(v2); v3");
}

TEST_F(Means, OfASumAreTakenBeforeAProduct) {
  const ValueId wide = input("wide", {n, s, 64});
  EXPECT_EQ(search({mean(add(wide, matmul(x, weight({8, 64}))), {1}, 0)}).form,
            "v1 = reduce_mean(wide); v2 = reduce_mean(x); v3 = matmul(v2, [8, 64]); v4 = add(v1, v3); v4");
}

TEST_F(Means, OfChannelsAreTakenBeforeAConvolutionOfOnePixel) {
  const ValueId image = input("image", {n, 8, 6, 6});
  const ValueId y = add(conv(image, weight({16, 8, 1, 1})), weight({16, 1, 1}));
  EXPECT_EQ(search({mean(y, {2, 3}, 1)}).form, "v1 = reduce_mean(image); v2 = conv(v1, [16, 8, 1, 1]); v3 = add(v2, [16, 1, 1]); v3");
  EXPECT_EQ(search({mean(conv(image, weight({16, 8, 3, 3}), 1), {2, 3}, 1)}).form,
            "v1 = conv(image, [16, 8, 3, 3]); v2 = reduce_mean(v1); v2");
}

TEST_F(Means, OfWhatIsReadElsewhereStay) {
  const ValueId projected = matmul(x, weight({8, 16}));
  EXPECT_EQ(search({mean(projected, {1}, 0), projected}).form, "v1 = matmul(x, [8, 16]); v2 = reduce_mean(v1); v2, v1");
}

}  // namespace
}  // namespace xflow::coverage
