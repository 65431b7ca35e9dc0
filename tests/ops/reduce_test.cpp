#include <gtest/gtest.h>

#include "src/ops/stable.h"
#include "tests/ops/examples.h"

namespace xflow::ops {
namespace {

ir::Attributes over(std::initializer_list<std::int64_t> axes, std::int64_t keep_dims = 1) {
  return {{"axes", list(axes)}, {"keep_dims", ir::Poly(keep_dims)}};
}

const std::vector<Example>& reduce_examples() {
  static const std::vector<Example> list_of_examples = {
      {"reduce_sum", {"float32[N, C, H]"}, over({-1})},
      {"reduce_sum", {"int64[N, C]"}, over({1, 0}, 0)},
      {"reduce_mean", {"float32[N, C, H, W]"}, over({2, 3})},
      {"reduce_mean", {"int32[N, 4]"}, over({1}, 0)},
      {"reduce_max", {"float32[N, C, H]"}, over({0, 2}, 0)},
      {"reduce_min", {"float32[N, C]"}, over({1})},
      {"reduce_l2", {"float32[N, C]"}, over({1})},
      {"softmax", {"float32[N, C]"}, {}},
      {"log_softmax", {"float32[N, C, 1]"}, {{"axis", ir::Poly(1)}}},
      {"cumsum", {"float32[N, C]"}, {{"axis", ir::Poly(-1)}}},
      {"cumsum", {"float32[N, C]"}, {{"axis", ir::Poly(0)}, {"exclusive", ir::Poly(1)}, {"reverse", ir::Poly(1)}}},
  };
  return list_of_examples;
}

TEST(Reductions, HaveTheIndexNotationOfTheirGolden) { expect_golden("reduce.golden", reduce_examples()); }

TEST(Reductions, AreReadAsTheyAreWrittenInEveryOpset) {
  for (const Example& example : reduce_examples()) expect_round_trips(example);
}

TEST(Reductions, KeepOrDropDimensions) {
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N, C, H]"}, over({0, -1}, 0)}), "float32[C]");
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N, C, H]"}, over({0, -1})}), "float32[1, C, 1]");
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N]"}, over({})}), "float32[N]");
}

TEST(Reductions, HaveOneFormForEachSetOfAxes) {
  ir::Arena arena;
  const auto x = arena.input(parse_type(arena.symbols(), "float32[N, C, H]"), 0);
  EXPECT_EQ(apply(arena, "reduce_sum", {x}, over({-1, 0})).value(), apply(arena, "reduce_sum", {x}, over({0, 2})).value());
}

TEST(Reductions, SayWhatTheirTypeRuleExpected) {
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N]"}, {}}), "reduce_sum: expected attribute 'axes' (a list of integers)");
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N]"}, over({1})}),
            "reduce_sum: expected attribute 'axes' to be an axis of 1 dimension, found 1");
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N, C]"}, over({1, -1})}), "reduce_sum: expected attribute 'axes' to name each axis once");
  EXPECT_EQ(type_of({"reduce_sum", {"float32[N, C]"}, over({1}, 2)}), "reduce_sum: expected 'keep_dims' to be 0 or 1");
  EXPECT_EQ(type_of({"reduce_max", {"float32[N, 0]"}, over({1})}),
            "reduce_max: expected the reduced dimensions to be at least 1, found -1");
  EXPECT_EQ(type_of({"softmax", {"float32[N, C]"}, {{"axis", ir::Poly(2)}}}),
            "softmax: expected attribute 'axis' to be an axis of 2 dimensions, found 2");
}

TEST(Reductions, HaveAxesAsAttributesThenAsInputs) {
  const Example sum{"reduce_sum", {"float32[N, C]"}, over({1})};
  EXPECT_EQ(exported(sum, "ReduceSum", 12), "ReduceSum(%0) {axes: [1], keepdims: 1}");
  EXPECT_EQ(exported(sum, "ReduceSum", 13), "ReduceSum(%0, [1]) {keepdims: 1}");
  const Example mean{"reduce_mean", {"float32[N, C]"}, over({1}, 0)};
  EXPECT_EQ(exported(mean, "ReduceMean", 17), "ReduceMean(%0) {axes: [1], keepdims: 0}");
  EXPECT_EQ(exported(mean, "ReduceMean", 18), "ReduceMean(%0, [1]) {keepdims: 0}");
}

TEST(Reductions, TakeAllAxesWhereNoneAreGiven) {
  ir::Arena arena;
  const ir::TensorType x = parse_type(arena.symbols(), "float32[N, C]");
  FakeOnnxNode attribute(arena.symbols(), "ReduceMax", 11);
  EXPECT_EQ(lifted(attribute.input(x), arena), "reduce_max(float32[N, C]) {axes: [0, 1], keep_dims: 1}");
  FakeOnnxNode input(arena.symbols(), "ReduceSum", 13);
  EXPECT_EQ(lifted(input.input(x).input(std::vector<ir::Poly>{}), arena), "reduce_sum(float32[N, C]) {axes: [0, 1], keep_dims: 1}");
  FakeOnnxNode none(arena.symbols(), "ReduceSum", 13);
  EXPECT_EQ(lifted(none.input(x).attribute("noop_with_empty_axes", std::int64_t{1}), arena), "a reduction over no axis");
  FakeOnnxNode unknown(arena.symbols(), "ReduceSum", 13);
  EXPECT_EQ(lifted(unknown.input(x).input(parse_type(arena.symbols(), "int64[1]")), arena),
            "cannot read 'axes': its values are not known before the run");
}

TEST(Reductions, AreGlobalPoolsOverAllSpatialDimensions) {
  ir::Arena arena;
  FakeOnnxNode node(arena.symbols(), "GlobalAveragePool", 11);
  EXPECT_EQ(lifted(node.input(parse_type(arena.symbols(), "float32[N, C, H, W]")), arena),
            "reduce_mean(float32[N, C, H, W]) {axes: [2, 3], keep_dims: 1}");
  EXPECT_EQ(exported({"reduce_mean", {"float32[N, C, H]"}, over({2})}, "GlobalAveragePool", 11), "GlobalAveragePool(%0)");
  EXPECT_EQ(exported({"reduce_mean", {"float32[N, C, H]"}, over({1})}, "GlobalAveragePool", 11),
            "not a reduction over all spatial dimensions");
  EXPECT_EQ(exported({"reduce_max", {"float32[N, C, H]"}, over({2}, 0)}, "GlobalMaxPool", 11),
            "not a reduction over all spatial dimensions");
}

TEST(Softmax, IsReadBefore13WhereTheMatrixFormIsOneAxis) {
  ir::Arena arena;
  const auto softmax = [&](const char* x) {
    FakeOnnxNode node(arena.symbols(), "Softmax", 11);
    return node.input(parse_type(arena.symbols(), x));
  };
  EXPECT_EQ(lifted(softmax("float32[N, C]"), arena), "softmax(float32[N, C]) {axis: 1}");
  EXPECT_EQ(lifted(softmax("float32[N, C, 1, 1]"), arena), "softmax(float32[N, C, 1, 1]) {axis: 1}");
  EXPECT_EQ(lifted(softmax("float32[N, C, H]"), arena), "Softmax over several dimensions is a composition");
  EXPECT_EQ(lifted(softmax("float32[N, C, H]").attribute("axis", std::int64_t{-1}), arena), "softmax(float32[N, C, H]) {axis: 2}");
  EXPECT_EQ(exported({"softmax", {"float32[N, C, H]"}, {{"axis", ir::Poly(1)}}}, "Softmax", 12),
            "Softmax over an axis that is not the last cannot be exported in this opset");
  EXPECT_EQ(exported({"softmax", {"float32[N, C, H]"}, {{"axis", ir::Poly(1)}}}, "Softmax", 13), "Softmax(%0) {axis: 1}");
}

std::string stable_form(const Example& example) {
  ir::Arena arena;
  const auto id = make_node(arena, example);
  std::vector<ir::Poly> index;
  const Expr expr = semantics_of(arena, id.value(), 0, index);
  return to_string(arena.symbols(), index, stable(arena.symbols(), expr), {"x"});
}

TEST(StableForm, ShiftsSoftmaxByItsMaximum) {
  EXPECT_EQ(stable_form({"softmax", {"float32[C]"}, {}}),
            "[i'1] = exp(x[i'1] - max(k'2 < C, x[k'2])) / sum(k'3 < C, exp(x[k'3] - max(k'2 < C, x[k'2])))");
  EXPECT_EQ(stable_form({"log_softmax", {"float32[C]"}, {}}),
            "[i'1] = x[i'1] - (max(k'2 < C, x[k'2]) + log(sum(k'3 < C, exp(x[k'3] - max(k'2 < C, x[k'2])))))");
  EXPECT_EQ(stable_form({"softplus", {"float32[C]"}, {}}), "[i'1] = maximum(x[i'1], 0) + log(exp(-abs(x[i'1])) + 1)");
}

TEST(StableForm, LeavesOtherExpressionsAsTheyAre) {
  ir::Arena arena;
  const auto id = make_node(arena, {"lrn", {"float32[N, C]"}, {{"size", ir::Poly(3)}}});
  std::vector<ir::Poly> index;
  const Expr expr = semantics_of(arena, id.value(), 0, index);
  EXPECT_EQ(stable(arena.symbols(), expr), expr);
}

}  // namespace
}  // namespace xflow::ops
