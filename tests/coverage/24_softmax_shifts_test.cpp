#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

class SoftmaxShifts : public Coverage {
 protected:
  const ValueId x = input("x", {dim("B", 2), dim("S", 4), 8});
  ValueId softmax(ValueId v) { return op("softmax", {v}, {{"axis", Poly(2)}}); }
};

TEST_F(SoftmaxShifts, AreIgnored) {
  const ValueId y = softmax(add(x, input("t", {dim("B", 2), dim("S", 4), 1})));
  EXPECT_EQ(search({y}, {.any_numbers = true}).form, "v1 = softmax(x); v1");
  EXPECT_EQ(count(search({y}, {.without = {"softmax-of-shift"}, .any_numbers = true}).graph, "add"), 1U);
  // An infinite shift would show.
  EXPECT_EQ(search({y}).form, "v1 = add(x, t); v2 = softmax(v1); v2");
}

TEST_F(SoftmaxShifts, ByTheMaximumAreIgnored) {
  const ValueId largest = op("reduce_max", {x}, {{"axes", std::vector<Poly>{2}}, {"keep_dims", Poly(1)}});
  EXPECT_EQ(search({softmax(op("sub", {x, largest}))}, {.any_numbers = true}).form, "v1 = softmax(x); v1");
}

}  // namespace
}  // namespace xflow::coverage
