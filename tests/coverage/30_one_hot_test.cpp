#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Products of one-hot rows and a matrix, which an embedding without a gather is.
class OneHotRows : public Coverage {
 protected:
  // Some indices are outside of the matrix.
  const Poly n = dim("N", 60);
  const ValueId i = indices("i", {n});
  ValueId range(std::int64_t first, std::int64_t size) {
    std::vector<double> numbers;
    for (std::int64_t k = 0; k < size; ++k) numbers.push_back(static_cast<double>(first + k));
    return arena.constant(*ir::make_constant(ir::DataType::int64, {size}, numbers));
  }
  ValueId floating(ValueId v) { return op("cast", {v}, {{"to", ir::DataType::float32}}); }
  ValueId one_hot(ir::DataType type) { return op("one_hot", {i}, {{"axis", Poly(1)}, {"depth", Poly(10)}, {"data_type", type}}); }
  // Products take long, as large ones do.
  std::string found(ValueId rows) { return search({matmul(rows, weight({10, 64}))}, {.device = {.least_product = 1e6}}).form; }
  ValueId compared(ValueId with) { return floating(op("equal", {reshape(i, {n, 1}), with})); }
};

TEST_F(OneHotRows, AreRowsOfTheMatrix) {
  const std::string rows =
      "v1 = less(i, []); v2 = add(i, [1]); v3 = select(v1, v2, i); v4 = maximum(v3, []); v5 = minimum(v4, [1]); v6 = equal(v3, v5); v7 = "
      "reshape(v6); v8 = gather([10, 64], v5); v9 = select(v7, v8, []); v9";
  EXPECT_EQ(found(one_hot(ir::DataType::float32)), rows);
  EXPECT_EQ(found(floating(one_hot(ir::DataType::int64))), rows);
}

TEST_F(OneHotRows, OfAComparisonWithARange) {
  EXPECT_EQ(
      found(compared(range(0, 10))),
      "v1 = reshape(i); v2 = maximum(v1, []); v3 = minimum(v2, [1]); v4 = equal(v1, v3); v5 = reshape(v3); v6 = gather([10, 64], v5); "
      "v7 = select(v4, v6, []); v7");
  // Of other numbers they are not.
  EXPECT_EQ(found(compared(range(1, 10))), "v1 = reshape(i); v2 = equal(v1, [10]); v3 = cast(v2); v4 = matmul(v3, [10, 64]); v4");
}

}  // namespace
}  // namespace xflow::coverage
