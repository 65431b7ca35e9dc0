#include "src/rules/constant_rules.h"

#include "src/rules/apply.h"
#include "tests/places.h"
#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

using ir::DataType;
using ir::Poly;
using ir::ValueId;

class ConstantExpressions : public ::testing::Test {
 protected:
  ConstantExpressions() {
    for (const std::string file : {"movement.rules", "neutral.rules"})
      EXPECT_TRUE(rules_.add_path(places::repository() + "/substitutions/" + file));
  }

  ValueId constant(std::vector<std::int64_t> dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    return arena_.constant(*ir::make_constant(DataType::float32, std::move(dims), std::vector<double>(count, ++value_)));
  }
  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << (value ? "" : value.error().text());
    return *value;
  }
  ValueId concat(ValueId a, ValueId b) { return op("concat", {a, b}, {{"axis", Poly(0)}}); }
  ValueId slice(ValueId of, std::int64_t from, std::int64_t size) {
    const std::vector<Poly> ones = {1};
    return op("slice", {of}, {{"starts", std::vector<Poly>{from}}, {"sizes", std::vector<Poly>{size}}, {"steps", ones}});
  }
  std::vector<ValueId> simplified(std::vector<ValueId> outputs) {
    ConstantRules(rules_).simplify(arena_, outputs);
    return outputs;
  }
  ValueId simplified(ValueId value) { return simplified(std::vector<ValueId>{value})[0]; }

  VerifiedRules rules_{{}, [](const Rule&) { return true; }};
  ir::Arena arena_;
  double value_ = 0;
};

TEST_F(ConstantExpressions, APartOfAConcatenationIsThePart) {
  const ValueId a = constant({3});
  const ValueId b = constant({5});
  EXPECT_EQ(simplified(slice(concat(a, b), 0, 3)), a);
  EXPECT_EQ(simplified(slice(concat(a, b), 3, 5)), b);
  const ValueId across = slice(concat(a, b), 2, 3);
  EXPECT_EQ(simplified(across), across);
}

TEST_F(ConstantExpressions, SlicesThatCoverATensorAreTheTensor) {
  const ValueId a = constant({8});
  EXPECT_EQ(simplified(concat(slice(a, 0, 3), slice(a, 3, 5))), a);
  EXPECT_EQ(simplified(concat(slice(a, 1, 2), slice(a, 3, 5))), slice(a, 1, 7));
  EXPECT_EQ(simplified(slice(slice(a, 1, 6), 2, 3)), slice(a, 3, 3));
}

TEST_F(ConstantExpressions, AllPartsOfAnUndoneConcatenationAreReplaced) {
  const ValueId a = constant({3});
  const ValueId b = constant({5});
  const std::vector<Poly> sizes = {3, 5};
  const ValueId parts = op("split", {concat(a, b)}, {{"axis", Poly(0)}, {"sizes", sizes}});
  EXPECT_EQ(simplified(std::vector<ValueId>{{parts.node, 0}, {parts.node, 1}}), (std::vector<ValueId>{a, b}));
}

TEST_F(ConstantExpressions, OperationsThatRunStay) {
  const ValueId x = arena_.input({DataType::float32, true, {3}}, 0);
  const ValueId part = slice(concat(x, constant({5})), 0, 3);
  EXPECT_EQ(simplified(part), part);
}

TEST_F(ConstantExpressions, OnlyExactRulesThatMakeFewerOperationsAreUsed) {
  VerifiedRules rules({}, [](const Rule&) { return true; });
  ASSERT_TRUE(
      rules.add("rule more\n  source y = relu(x)\n  target y = relu(relu(x))\n"
                "rule as-many\n  source y = neg(relu(x))\n  target y = relu(neg(neg(x)))\n"
                "rule rounding\n  source y = x * z + x * w\n  target y = x * (z + w)\n"
                "rule two-roots\n  source\n    y1 = relu(neg(x))\n    y2 = neg(neg(x))\n  target\n    y1 = relu(neg(x))\n    y2 = x\n",
                "test.rules"));
  EXPECT_EQ(ConstantRules(rules).size(), 0U);
  ASSERT_TRUE(rules.add("rule fewer\n  source y = neg(neg(x))\n  target y = x\n", "test.rules"));
  EXPECT_EQ(ConstantRules(rules).size(), 1U);
}

// Two operations of a source that match one are no gain: rules that undo each other would not end.
TEST_F(ConstantExpressions, EachStepTakesFewerOperations) {
  VerifiedRules rules({}, [](const Rule&) { return true; });
  ASSERT_TRUE(
      rules.add("rule outwards\n  source y = concat(neg(x), neg(z), axis: a)\n  target y = neg(concat(x, z, axis: a))\n", "test.rules"));
  ASSERT_EQ(ConstantRules(rules).size(), 1U);
  const ValueId a = constant({3});
  const ValueId b = constant({3});
  const auto simplified_by = [&](ValueId value) {
    std::vector<ValueId> outputs = {value};
    ConstantRules(rules).simplify(arena_, outputs);
    return outputs[0];
  };
  const ValueId same = concat(op("neg", {a}), op("neg", {a}));
  EXPECT_EQ(simplified_by(same), same);
  EXPECT_EQ(simplified_by(concat(op("neg", {a}), op("neg", {b}))), op("neg", {concat(a, b)}));
}

// The target of a rule: its constants are simplified as they are made, those within others first.
TEST_F(ConstantExpressions, TargetsAreBuiltWithoutConstantsThatWereUndone) {
  const Rule shift = parsed(
      "rule r\n  with x: [A], z: [B], b: [C]\n  source y = concat(x, z, axis: 0) + b\n"
      "  target y = concat(x + slice(b, starts: [0], sizes: [A], steps: 1),"
      " z + slice(b, starts: [A], sizes: [B], steps: 1), axis: 0)\n  where const(b) and C = A + B\n")[0];
  const auto pattern = *Pattern::compile(shift);
  const ValueId x = arena_.input({DataType::float32, true, {3}}, 0);
  const ValueId z = arena_.input({DataType::float32, true, {5}}, 1);
  const ValueId a = constant({3});
  const ValueId b = constant({5});
  const ValueId y = op("add", {concat(x, z), concat(a, b)});
  const ir::Graph graph{{y}};
  const ir::Uses uses(arena_, graph);
  const ConstantRules constants(rules_);
  int matches = 0;
  match(*pattern, arena_, uses, y.node, {}, [&](Match& found) {
    ++matches;
    const auto replaced = apply(arena_, found, &constants);
    EXPECT_TRUE(replaced);
    EXPECT_EQ(replaced->at(y), concat(op("add", {x, a}), op("add", {z, b})));
    return true;
  });
  EXPECT_EQ(matches, 1);
}

}  // namespace
}  // namespace xflow::rules
