#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

class UnflattenedRows : public Coverage {
 protected:
  const ValueId x = input("x", {Poly(5), Poly(8), Poly(3)});
  ValueId reshape(ValueId value, const std::vector<Poly>& shape) { return op("reshape", {value}, {{"shape", shape}}); }
};

// Heads beside the samples go to the rows, which are flattened for a product with a bias.
TEST_F(UnflattenedRows, AreRowsOfAProduct) {
  const ValueId flat = matmul(reshape(x, {10, 12}), weight({12, 4}));
  const Graph biased{{reshape(add(flat, weight({4})), {5, 2, 4})}};
  EXPECT_EQ(form(apply("unflattened-rows-of-sum", biased)),
            "v1 = reshape(x); v2 = matmul(v1, [12, 4]); v3 = reshape(v2); v4 = add(v3, [4]); v4");
  const Graph plain{{reshape(flat, {5, 2, 4})}};
  EXPECT_EQ(form(apply("unflattened-rows-of-product", plain)), "v1 = reshape(x); v2 = reshape(v1); v3 = matmul(v2, [12, 4]); v3");
}

}  // namespace
}  // namespace xflow::coverage
