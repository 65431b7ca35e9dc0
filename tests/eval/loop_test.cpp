// Operations that are compiled once and run on one memory after another.
#include "src/eval/loop.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/ops/operator.h"

namespace xflow::eval {
namespace {

using ir::DataType;
using ir::Poly;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

class LoopTest : public ::testing::Test {
 protected:
  ir::ValueId input(const Integers& dims, DataType type = DataType::float32) {
    return arena_.input(ir::TensorType{type, true, ir::polys(dims)}, next_++);
  }
  Loop compile(const std::string& name, std::vector<ir::ValueId> operands, ir::Attributes attributes) {
    const auto value = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << value.error().text();
    return Loop::compile(arena_, value->node, 0).value();
  }

 private:
  ir::Arena arena_;
  std::uint32_t next_ = 0;
};

template <typename T>
const std::byte* place(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

Floats run(Loop& loop, const std::vector<const std::byte*>& operands, std::size_t count) {
  Floats result(count, -1);
  EXPECT_TRUE(loop.run(operands, reinterpret_cast<std::byte*>(result.data())));
  return result;
}

TEST_F(LoopTest, ARunKnowsNothingOfTheOneBefore) {
  // Of several stages: maxima and sums of rows, then their quotients.
  Loop softmax = compile("softmax", {input({2, 2})}, {{"axis", Poly(1)}});
  EXPECT_EQ(run(softmax, {place(Floats{0, 0, 1, 1})}, 4), (Floats{0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(run(softmax, {place(Floats{0, 200, 300, 0})}, 4), (Floats{0, 1, 1, 0}));
  // A sum of products.
  Loop product = compile("matmul", {input({1, 3}), input({3, 2})}, {});
  const Floats weights = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(product, {place(Floats{1, 1, 1}), place(weights)}, 2), (Floats{9, 12}));
  EXPECT_EQ(run(product, {place(Floats{1, 0, 2}), place(weights)}, 2), (Floats{11, 14}));
}

TEST_F(LoopTest, IndicesAreReadAgain) {
  Loop gather = compile("gather", {input({3}), input({2}, DataType::int64)}, {{"axis", Poly(0)}});
  const Floats x = {5, 6, 7};
  EXPECT_EQ(run(gather, {place(x), place(Integers{2, 0})}, 2), (Floats{7, 5}));
  EXPECT_EQ(run(gather, {place(x), place(Integers{1, -1})}, 2), (Floats{6, 7}));
}

}  // namespace
}  // namespace xflow::eval
