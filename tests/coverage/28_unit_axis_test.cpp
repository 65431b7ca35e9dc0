#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Convolutions of one dimension as convolutions of images of one row.
class UnitAxis : public Coverage {
 protected:
  const Poly n = dim("N", 2);
  const Poly l = dim("L", 12);
  const ValueId x = input("x", {n, 4, l});
  const SearchOptions device = {.device = {.launch = 10, .rows = 1000}};
  ValueId rows(ValueId v, std::vector<Poly> pads, Poly stride, Poly dilation, Poly groups, std::vector<std::int64_t> weights) {
    return op("conv", {v, weight(std::move(weights))},
              {{"strides", std::vector<Poly>{std::move(stride)}},
               {"pads", std::move(pads)},
               {"dilations", std::vector<Poly>{std::move(dilation)}},
               {"groups", std::move(groups)}});
  }
  ValueId rows(ValueId v) { return rows(v, {1, 1}, 1, 1, 1, {4, 4, 3}); }
};

TEST_F(UnitAxis, IsAddedWhereImagesAreFaster) {
  const ValueId y = rows(x, {2, 1}, 2, 3, 2, {6, 2, 3});
  EXPECT_EQ(search({y}, device).form, "v1 = reshape(x); v2 = conv(v1, [6, 2, 1, 3], groups: 2); v3 = reshape(v2); v3");
  EXPECT_EQ(search({y}).form, "v1 = conv(x, [6, 2, 3], groups: 2); v1");
}

TEST_F(UnitAxis, IsAddedOnceForAChain) {
  const ValueId y = rows(relu(add(rows(x), weight({4, 1}))));
  EXPECT_EQ(search({rows(y)}, device).form,
            "v1 = reshape(x); v2 = conv(v1, [4, 4, 1, 3]); v3 = add(v2, [4, 1, 1]); v4 = relu(v3); v5 = conv(v4, [4, 4, 1, 3]); v6 = "
            "conv(v5, [4, 4, 1, 3]); v7 = reshape(v6); v7");
}

TEST_F(UnitAxis, IsKeptThroughAGelu) {
  const ValueId a = rows(x);
  const ValueId gate = add(op("erf", {op("div", {a, number(1.4142135)})}), number(1));
  const ValueId y = rows(mul(mul(a, number(0.5)), gate), {0, 0}, 2, 1, 1, {4, 4, 2});
  EXPECT_EQ(search({y}, device).form,
            "v1 = reshape(x); v2 = conv(v1, [4, 4, 1, 3]); v3 = div(v2, []); v4 = erf(v3); v5 = add(v4, []); v6 = mul(v2, v5); v7 = "
            "mul(v6, []); v8 = conv(v7, [4, 4, 1, 2]); v9 = reshape(v8); v9");
}

TEST_F(UnitAxis, IsKeptThroughFunctionsWithSlopesAndBounds) {
  const ValueId leaky = op("leaky_relu", {rows(x)}, {{"alpha", ir::Real(ir::Rational::make(1, 10).value())}});
  const ValueId sloped = op("prelu", {rows(leaky), weight({4, 1})});
  const ValueId limited = op("elu", {rows(sloped)}, {{"alpha", ir::Real(2)}});
  const ValueId bounded = op("clip", {rows(limited)}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}});
  const ValueId gate = op("hard_sigmoid", {rows(bounded)},
                          {{"alpha", ir::Real(ir::Rational::make(1, 6).value())}, {"beta", ir::Real(ir::Rational::make(1, 2).value())}});
  EXPECT_EQ(
      search({rows(gate)}, device).form,
      "v1 = reshape(x); v2 = conv(v1, [4, 4, 1, 3]); v3 = leaky_relu(v2); v4 = conv(v3, [4, 4, 1, 3]); v5 = prelu(v4, [4, 1, 1]); v6 = "
      "conv(v5, [4, 4, 1, 3]); v7 = elu(v6); v8 = conv(v7, [4, 4, 1, 3]); v9 = clip(v8); v10 = conv(v9, [4, 4, 1, 3]); v11 = "
      "hard_sigmoid(v10); v12 = conv(v11, [4, 4, 1, 3]); v13 = reshape(v12); v13");
}

TEST_F(UnitAxis, IsKeptThroughAResidualSum) {
  const ValueId a = rows(x);
  EXPECT_EQ(search({rows(add(a, rows(relu(a))))}, device).form,
            "v1 = reshape(x); v2 = conv(v1, [4, 4, 1, 3]); v3 = relu(v2); v4 = conv(v3, [4, 4, 1, 3]); v5 = add(v2, v4); v6 = "
            "conv(v5, [4, 4, 1, 3]); v7 = reshape(v6); v7");
}

TEST_F(UnitAxis, IsKeptThroughTransposedConvolutionsAndPools) {
  const ir::Attributes window = {{"kernel", std::vector<Poly>{3}}, {"strides", std::vector<Poly>{2}}, {"pads", std::vector<Poly>{1, 0}}};
  const ValueId grown =
      op("conv_transpose", {rows(x), weight({4, 4, 4})},
         {{"strides", std::vector<Poly>{2}}, {"pads", std::vector<Poly>{1, 1}}, {"output_padding", std::vector<Poly>{1}}});
  const ValueId pooled = op("average_pool", {op("max_pool", {grown}, window)}, window);
  EXPECT_EQ(
      search({rows(pooled)}, device).form,
      "v1 = reshape(x); v2 = conv(v1, [4, 4, 1, 3]); v3 = conv_transpose(v2, [4, 4, 1, 4]); v4 = max_pool(v3); v5 = average_pool(v4); "
      "v6 = conv(v5, [4, 4, 1, 3]); v7 = reshape(v6); v7");
}

}  // namespace
}  // namespace xflow::coverage
