#include "src/validation/region_check.h"

#include <gtest/gtest.h>

#include "src/eval/evaluate.h"
#include "src/ops/operator.h"

namespace xflow::api {
namespace {

// x through scales by numbers, and what is put in its place.
class Regions : public ::testing::Test {
 protected:
  ir::ValueId input(ir::DataType type, std::vector<ir::Poly> shape) {
    const ir::ValueId value = arena_.input({type, true, std::move(shape)}, 0);
    inputs_ = {{"x", value}};
    type_ = type;
    return value;
  }
  ir::ValueId number(double value) { return arena_.constant(*ir::make_constant(type_, {}, std::span(&value, 1))); }
  ir::ValueId op(std::string_view name, std::vector<ir::ValueId> operands) {
    const auto made = ops::apply(arena_, name, std::move(operands));
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return *made;
  }
  Result<CheckedRegions> check(ir::ValueId before, ir::ValueId after) {
    const ir::Graph original{{before}};
    const ir::Graph result{{after}};
    const ir::ValueMap correspondence{{before, after}};
    return check_regions({arena_, original, result, correspondence, inputs_, runs_, [](ir::ValueId) { return std::string("y"); },
                          [&](ir::ValueId value) { return eval::fold(arena_, value); }});
  }

  ir::Arena arena_;
  std::vector<NamedInput> inputs_;
  RunInputs runs_;
  ir::DataType type_{};
};

TEST_F(Regions, SayAtWhichSizesTheyWereRun) {
  const ir::Poly n = arena_.symbols().named(ir::SymbolKind::dimension, "n");
  const ir::Poly m = arena_.symbols().named(ir::SymbolKind::dimension, "m");
  const ir::ValueId x = input(ir::DataType::float32, {n, m});
  const auto checked = check(op("mul", {op("mul", {x, number(3)}), number(5)}), op("mul", {x, op("mul", {number(3), number(5)})}));
  ASSERT_TRUE(checked) << checked.error().text();
  ASSERT_EQ(checked->regions.size(), 1U);
  EXPECT_TRUE(checked->regions[0].agrees) << checked->regions[0].message;
  EXPECT_EQ(checked->regions[0].checked_values, 128U + 2U * 64U);
  EXPECT_EQ(checked->sizes, (std::vector<std::string>{"x: [1, 128]", "x: [2, 64]"}));
  EXPECT_TRUE(checked->skipped.empty());
}

TEST_F(Regions, TakeAnotherSecondChoiceWhereTheModelRefusesOne) {
  const ir::Poly n = arena_.symbols().named(ir::SymbolKind::dimension, "n");
  const ir::Poly m = arena_.symbols().named(ir::SymbolKind::dimension, "m");
  const ir::ValueId x = input(ir::DataType::float32, {n, m});
  const ir::ValueId row = arena_.constant(*ir::make_constant(ir::DataType::float32, {128}, std::vector<double>(128, 1)));
  const ir::ValueId sum = op("add", {x, row});
  const auto checked = check(op("mul", {op("mul", {sum, number(3)}), number(5)}), op("mul", {sum, op("mul", {number(3), number(5)})}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(checked->sizes, (std::vector<std::string>{"x: [1, 128]", "x: [2, 128]"}));
}

TEST_F(Regions, OfDeclaredSizesAreRunOnce) {
  const ir::ValueId x = input(ir::DataType::float32, {2, 3});
  const auto checked = check(op("mul", {op("mul", {x, number(3)}), number(5)}), op("mul", {x, number(15)}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_EQ(checked->sizes, std::vector<std::string>{"the declared sizes"});
}

TEST_F(Regions, AreRunOnTheInputsThatAreGiven) {
  const ir::Poly n = arena_.symbols().named(ir::SymbolKind::dimension, "n");
  const ir::ValueId x = input(ir::DataType::float32, {n, 2});
  const ir::ValueId before = op("relu", {x});
  const ir::ValueId after = op("abs", {x});  // equal where x is positive
  const auto set = [](std::vector<double> values) {
    const auto rows = static_cast<std::int64_t>(values.size() / 2);
    InputSet set{"a.pb", {}};
    set.tensors.emplace("x", eval::Tensor::of_doubles(ir::DataType::float32, {rows, 2}, std::move(values)));
    return set;
  };
  runs_.shapes = {{{"x", {1, 2}}}, {{"x", {3, 2}}}};
  runs_.sets = {set({1, 2}), set({3, 4, 5, 6, 7, 8})};
  const auto checked = check(before, after);
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_TRUE(checked->regions[0].agrees) << checked->regions[0].message;
  EXPECT_EQ(checked->regions[0].checked_values, 8U);
  EXPECT_EQ(checked->sizes, (std::vector<std::string>{"x: [1, 2] of a.pb", "x: [3, 2] of a.pb"}));
  runs_.sets[1] = set({3, 4, -5, 6, 7, 8});
  EXPECT_FALSE(check(before, after)->regions[0].agrees);
}

TEST_F(Regions, ThatComputeSomethingElseDoNotAgree) {
  const ir::ValueId x = input(ir::DataType::float32, {2, 3});
  const auto checked = check(op("mul", {op("mul", {x, number(3)}), number(5)}), op("mul", {x, number(15.001)}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_FALSE(checked->regions[0].agrees);
  EXPECT_NE(checked->regions[0].message.find("allowed"), std::string::npos) << checked->regions[0].message;
}

TEST_F(Regions, ThatBecomeAnotherValueAreComparedWithIt) {
  const ir::ValueId x = input(ir::DataType::float32, {2, 3});
  const auto same = check(op("neg", {op("neg", {x})}), x);
  ASSERT_TRUE(same) << same.error().text();
  ASSERT_EQ(same->regions.size(), 1U);
  EXPECT_TRUE(same->regions[0].agrees) << same->regions[0].message;
  EXPECT_EQ(same->regions[0].checked_values, 6U);
  const auto other = check(op("abs", {op("neg", {x})}), x);
  ASSERT_TRUE(other) << other.error().text();
  ASSERT_EQ(other->regions.size(), 1U);
  EXPECT_FALSE(other->regions[0].agrees);
}

TEST_F(Regions, ReadSizesThatOnlyOpaqueNodesShow) {
  const ir::ValueId x = input(ir::DataType::float32, {2, 3});
  const ir::Poly found = arena_.symbols().named(ir::SymbolKind::dimension, "found");
  const ir::ValueId opaque{arena_.opaque(0, {x}, {{ir::DataType::float32, true, {found}}}), 0};
  const auto both = ops::apply(arena_, "concat", {opaque, opaque}, {{"axis", ir::Poly(0)}});
  ASSERT_TRUE(both) << both.error().text();
  const auto checked = check(op("mul", {op("mul", {*both, number(3)}), number(5)}), op("mul", {*both, number(15)}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_TRUE(checked->regions[0].agrees) << checked->regions[0].message;
  EXPECT_EQ(checked->regions[0].checked_values, 256U);
}

// A model of 128^4 elements is checked at a part of them, which depends on the sizes alone.
TEST_F(Regions, OfManyElementsAreCheckedAtASample) {
  const ir::ValueId x = input(ir::DataType::float32, {128, 128, 128, 128});
  const ir::ValueId before = op("mul", {op("mul", {op("tanh", {x}), number(3)}), number(5)});
  const auto checked = check(before, op("mul", {op("tanh", {x}), number(15)}));
  ASSERT_TRUE(checked) << checked.error().text();
  const CheckedRegion& region = checked->regions[0];
  EXPECT_TRUE(region.agrees) << region.message;
  EXPECT_EQ(region.values, std::uint64_t{1} << 28);
  EXPECT_LE(region.checked_values, std::uint64_t{1} << 24);
  EXPECT_GT(region.checked_values, std::uint64_t{1} << 20);
  const auto repeated = check(before, op("mul", {op("tanh", {x}), number(15)}));
  EXPECT_EQ(repeated->regions[0].checked_values, region.checked_values);
  EXPECT_EQ(repeated->regions[0].error, region.error);
}

TEST_F(Regions, OfManyElementsThatComputeSomethingElseDoNotAgree) {
  const ir::ValueId x = input(ir::DataType::float32, {512, 512, 512});
  const ir::ValueId product = op("matmul", {x, x});
  const auto checked = check(op("mul", {op("mul", {product, number(3)}), number(5)}), op("mul", {product, number(15.1)}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_FALSE(checked->regions[0].agrees);
  EXPECT_NE(checked->regions[0].message.find(" of the elements that were checked, ["), std::string::npos) << checked->regions[0].message;
}

// Of x and a number for each row, some rows of the sum are computed; the product of the original reads the others as their neighbours,
// whose numbers are others. The result still has the sum, for the other output, but its product does not read it.
TEST_F(Regions, OfSampledValuesAreComputedFromWhatTheyRead) {
  constexpr std::int64_t kRows = 512;
  const ir::ValueId x = op("tanh", {input(ir::DataType::float32, {kRows, 8})});
  std::vector<double> shifts;
  for (std::int64_t k = 0; k < kRows; ++k) shifts.push_back(static_cast<double>(k % 7));
  const ir::ValueId shift = arena_.constant(*ir::make_constant(type_, {kRows, 1}, shifts));
  const ir::ValueId weight = arena_.constant(*ir::make_constant(type_, {kRows, kRows}, std::vector<double>(kRows * kRows, 0.25)));
  const ir::ValueId sum = op("add", {x, shift});
  const ir::ValueId product = op("matmul", {weight, sum});
  const ir::ValueId other = op("mul", {op("mul", {sum, number(3)}), number(5)});
  const auto checked_with = [&](double wrong_by) {
    ir::ValueId made = op("add", {op("matmul", {weight, x}), op("matmul", {weight, shift})});
    if (wrong_by > 0) made = op("add", {made, number(wrong_by)});
    const ir::ValueId scaled = op("mul", {sum, number(15)});
    const ir::Graph original{{product, other}};
    const ir::Graph result{{made, scaled}};
    const ir::ValueMap correspondence{{product, made}, {other, scaled}};
    return check_regions({arena_,
                          original,
                          result,
                          correspondence,
                          inputs_,
                          runs_,
                          [](ir::ValueId) { return std::string("y"); },
                          [&](ir::ValueId value) { return eval::fold(arena_, value); },
                          {},
                          std::uint64_t{256} * 8'192});  // 8,192 elements in all
  };
  const auto right = checked_with(0);
  ASSERT_TRUE(right) << right.error().text();
  for (const CheckedRegion& region : right->regions) {
    EXPECT_LT(region.checked_values, region.values) << "nothing was sampled";
    EXPECT_TRUE(region.agrees) << region.message;
  }
  const auto wrong = checked_with(0.5);
  ASSERT_TRUE(wrong) << wrong.error().text();
  EXPECT_FALSE(wrong->regions[0].agrees);
}

// 1.1 * 1.3 rounded to a float16 is off by as much as the product of the original.
// As the first token of a transformer's last block does, an element reads a large product whole.
TEST_F(Regions, WithAnElementThatTakesALotAreChecked) {
  constexpr std::int64_t kRows = 768;
  constexpr std::int64_t kInner = 1024;
  const ir::ValueId x = input(ir::DataType::float32, {kRows, kInner});
  const std::vector<double> numbers(kInner * kInner, 0.5);
  const ir::ValueId w = arena_.constant(*ir::make_constant(ir::DataType::float32, {kInner, kInner}, numbers));
  const auto with = [&](std::string_view name, ir::ValueId value, ir::Attributes attributes) {
    return ops::apply(arena_, name, {value}, std::move(attributes)).value();
  };
  const auto sum = [&](ir::ValueId value) {
    return with("reduce_sum", value, {{"axes", std::vector<ir::Poly>{0, 1}}, {"keep_dims", ir::Poly(0)}});
  };
  const auto transposed = [&](ir::ValueId value) { return with("transpose", value, {{"perm", std::vector<ir::Poly>{1, 0}}}); };
  const auto checked = check(sum(op("matmul", {x, w})), sum(op("matmul", {transposed(w), transposed(x)})));
  ASSERT_TRUE(checked) << checked.error().text();
  ASSERT_EQ(checked->regions.size(), 1U);
  EXPECT_TRUE(checked->regions[0].agrees) << checked->regions[0].message;
  EXPECT_EQ(checked->regions[0].checked_values, 1U);
}

TEST_F(Regions, OfNarrowNumbersAreAllowedTheirOwnRounding) {
  const ir::ValueId x = input(ir::DataType::float16, {64});
  const ir::ValueId before = op("mul", {op("mul", {x, number(1.1)}), number(1.3)});
  const auto checked = check(before, op("mul", {x, op("mul", {number(1.1), number(1.3)})}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_TRUE(checked->regions[0].agrees) << checked->regions[0].message;
  const auto wrong = check(before, op("mul", {x, number(1.45)}));
  ASSERT_TRUE(wrong) << wrong.error().text();
  EXPECT_FALSE(wrong->regions[0].agrees);
}

// (x + 0.7) - (x + 0.7) is 0 in float; (x - (x + 0.7)) + 0.7 is not, though the reals are the same.
TEST_F(Regions, ThatLoseDigitsTheOriginalKeepsDoNotAgree) {
  const ir::ValueId x = input(ir::DataType::float32, {64});
  const ir::ValueId sum = op("add", {x, number(0.7)});
  const auto checked = check(op("sub", {sum, sum}), op("add", {op("sub", {x, sum}), number(0.7)}));
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_FALSE(checked->regions[0].agrees);
}

}  // namespace
}  // namespace xflow::api
