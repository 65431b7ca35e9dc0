#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

class RowScales : public Coverage {
 protected:
  const Poly b = dim("B", 1);
  const Poly s = dim("S", 8);
  const ValueId x = input("x", {b, s, 32});
  ValueId mean_of_squares() { return op("reduce_mean", {mul(x, x)}, {{"axes", std::vector<Poly>{2}}, {"keep_dims", Poly(1)}}); }
};

TEST_F(RowScales, MoveBehindAProduct) {
  const ValueId r = input("r", {b, s, 1});
  EXPECT_EQ(search({matmul(mul(x, r), weight({32, 4}))}).form, "v1 = matmul(x, [32, 4]); v2 = mul(v1, r); v2");
  EXPECT_EQ(search({matmul(mul(x, r), weight({32, 4}))}, {.without = {"matmul-of-row-scale"}}).form,
            "v1 = mul(x, r); v2 = matmul(v1, [32, 4]); v2");
  // Where r is 0 the sum of 0 / 0 and 1 / 0 is NaN, and a sum that is divided by 0 an infinity.
  const ValueId divided = matmul(op("div", {x, r}), weight({32, 4}));
  EXPECT_EQ(search({divided}).form, "v1 = div(x, r); v2 = matmul(v1, [32, 4]); v2");
  EXPECT_EQ(search({divided}, {.any_numbers = true}).form, "v1 = matmul(x, [32, 4]); v2 = div(v1, r); v2");
}

// The weight of the normalisation is part of that of the product, its scale stands behind.
TEST_F(RowScales, OfRootMeanSquareMoveBehindAProduct) {
  const ValueId root = op("sqrt", {add(mean_of_squares(), number(1e-5))});
  const ValueId y = matmul(mul(op("div", {x, root}), weight({32})), weight({32, 4}));
  const Graph folded = apply("matmul-of-scale", Graph{{y}});
  EXPECT_EQ(form(apply("matmul-of-row-division", folded)),
            "v1 = matmul(x, [32, 4]); v2 = mul(x, x); v3 = reduce_mean(v2); v4 = add(v3, []); v5 = sqrt(v4); v6 = div(v1, v5); v6");
}

}  // namespace
}  // namespace xflow::coverage
