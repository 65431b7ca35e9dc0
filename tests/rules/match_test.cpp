#include "src/rules/match.h"

#include <cmath>

#include "src/rules/apply.h"
#include "src/rules/verified_rules.h"
#include "tests/places.h"
#include "tests/rules/rules_for_tests.h"

namespace xflow::rules {
namespace {

using ir::DataType;
using ir::Poly;
using ir::ValueId;

// A graph under construction, and matching one rule everywhere in it.
class RuleMatch : public ::testing::Test {
 protected:
  ValueId input(ir::Shape shape, DataType type = DataType::float32) { return arena_.input({type, true, std::move(shape)}, serial_++); }
  ValueId constant(std::vector<std::int64_t> dims, double value = 0.5) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    // Different constants have different elements.
    std::vector<double> values(count, value);
    return arena_.constant(*ir::make_constant(DataType::float32, std::move(dims), values));
  }
  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    auto value = ops::apply(arena_, name, std::move(operands), std::move(attributes));
    EXPECT_TRUE(value) << (value ? "" : value.error().text());
    return *value;
  }
  Poly dim(std::string_view name) { return arena_.symbols().named(ir::SymbolKind::dimension, name); }

  // All graphs that one application of the rule makes of the graph with these outputs.
  std::vector<ir::Graph> rewrites(std::string_view text, std::vector<ValueId> outputs, MatchOptions options = {}) {
    auto rules = parsed(text);
    auto pattern = Pattern::compile(rules.at(0));
    EXPECT_TRUE(pattern) << (pattern ? "" : pattern.error().text());
    const ir::Graph graph{std::move(outputs)};
    const ir::Uses uses(arena_, graph);
    std::vector<ir::Graph> result;
    matches_ = 0;
    for (const ir::NodeId node : uses.order()) {
      match(**pattern, arena_, uses, node, options, [&](Match& found) {
        ++matches_;
        auto replacements = apply(arena_, found);
        if (!replacements) return true;
        auto replaced = ir::replace(arena_, graph, *replacements);
        EXPECT_TRUE(replaced) << (replaced ? "" : replaced.error().text());
        EXPECT_TRUE(ir::verify(arena_, *replaced));
        result.push_back(*replaced);
        return true;
      });
    }
    return result;
  }
  // The one graph that the rule makes; its only output.
  ValueId rewritten(std::string_view text, ValueId output) {
    const std::vector<ir::Graph> graphs = rewrites(text, {output});
    EXPECT_EQ(graphs.size(), 1U);
    return graphs.empty() ? output : graphs[0].outputs[0];
  }

  ir::Arena arena_;
  std::uint32_t serial_ = 0;
  int matches_ = 0;
};

TEST_F(RuleMatch, ReplacesAnOperatorByItsOperand) {
  const ValueId x = input({dim("N"), 3});
  const std::string rule = "rule r\n  source y = relu(relu(x))\n  target y = relu(x)\n";
  EXPECT_EQ(rewritten(rule, op("relu", {op("relu", {x})})), op("relu", {x}));
  EXPECT_TRUE(rewrites(rule, {op("relu", {x})}).empty());
}

TEST_F(RuleMatch, TriesBothOrdersOfCommutativeOperands) {
  const ValueId x = input({3});
  const std::string rule = "rule r\n  source y = relu(x) + neg(z)\n  target y = relu(x) - z\n";
  const ValueId expected = op("sub", {op("relu", {x}), x});
  EXPECT_EQ(rewritten(rule, op("add", {op("relu", {x}), op("neg", {x})})), expected);
  EXPECT_EQ(rewritten(rule, op("add", {op("neg", {x}), op("relu", {x})})), expected);
  // The order of a difference matters.
  EXPECT_TRUE(rewrites("rule r\n  source y = relu(x) - neg(z)\n  target y = relu(x) + z\n", {op("sub", {op("neg", {x}), op("relu", {x})})})
                  .empty());
}

// The shipped rule of this name.
std::string shipped(const std::string& name) {
  const auto text = read_rule_file(places::repository() + "/substitutions/movement.rules");
  for (const Rule& rule : parsed(*text))
    if (rule.name == name) return print(rule);
  ADD_FAILURE() << "no rule " << name;
  return {};
}

TEST_F(RuleMatch, ASliceOfASliceIsOne) {
  const ValueId x = input({dim("N"), 20});
  const auto slice = [&](ValueId v, std::vector<Poly> starts, std::vector<Poly> sizes, std::vector<Poly> steps) {
    return op("slice", {v}, {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}});
  };
  const ValueId inner = slice(x, {0, 3}, {dim("N"), 8}, {1, 2});
  const ValueId expected = slice(x, {0, 5}, {dim("N"), 2}, {1, 6});
  EXPECT_EQ(rewritten(shipped("slice-of-slice"), slice(inner, {0, 1}, {dim("N"), 2}, {1, 3})), expected);
  // Backwards: the rule is proved for steps of at least 1.
  EXPECT_TRUE(rewrites(shipped("slice-of-slice"), {slice(inner, {0, 7}, {dim("N"), 2}, {1, -3})}).empty());
}

// Proved for steps with a name, which a type rule takes for at least 1.
TEST_F(RuleMatch, WhatTypingAsksOfNamesIsAskedOfNumbers) {
  const ValueId x = input({12});
  const auto reversed = [&](std::int64_t start, std::int64_t step) {
    return op("slice", {x}, {{"starts", std::vector<Poly>{start}}, {"sizes", std::vector<Poly>{3}}, {"steps", std::vector<Poly>{step}}});
  };
  const std::string bound =
      "rule r\n  source y = neg(slice(x, starts: s, sizes: n, steps: t))\n"
      "  target y = slice(neg(x), starts: s, sizes: n, steps: t)\n";
  EXPECT_EQ(rewrites(bound, {op("neg", {reversed(2, 3)})}).size(), 1U);
  EXPECT_TRUE(rewrites(bound, {op("neg", {reversed(8, -3)})}).empty());
  // Steps that the rule writes down are typed as they are.
  const std::string written =
      "rule r\n  source y = neg(slice(x, starts: [s], sizes: [n], steps: [-3]))\n"
      "  target y = slice(neg(x), starts: [s], sizes: [n], steps: [-3])\n";
  EXPECT_EQ(rewrites(written, {op("neg", {reversed(8, -3)})}).size(), 1U);
}

TEST_F(RuleMatch, NeighbouringSlicesAreOneAndTheWholeIsTheTensor) {
  const ValueId x = input({dim("N"), 12});
  const auto part = [&](std::int64_t start, std::int64_t size) {
    return op("slice", {x},
              {{"starts", std::vector<Poly>{0, start}}, {"sizes", std::vector<Poly>{dim("N"), size}}, {"steps", std::vector<Poly>{1, 1}}});
  };
  const auto concat = [&](ValueId a, ValueId b, std::int64_t axis = 1) { return op("concat", {a, b}, {{"axis", Poly(axis)}}); };
  const std::string neighbours = shipped("concat-of-neighbouring-slices");
  EXPECT_EQ(rewritten(neighbours, concat(part(2, 3), part(5, 4))), part(2, 7));
  for (const ValueId other :
       {concat(part(5, 4), part(2, 3)), concat(part(2, 3), part(6, 4)), concat(part(2, 3), part(4, 4)), concat(part(2, 3), part(5, 3), 0)})
    EXPECT_TRUE(rewrites(neighbours, {other}).empty());
  const std::string covering = shipped("concat-of-covering-slices");
  EXPECT_EQ(rewritten(covering, op("relu", {concat(part(0, 5), part(5, 7))})), op("relu", {x}));
  EXPECT_TRUE(rewrites(covering, {concat(part(0, 5), part(5, 6))}).empty());
}

TEST_F(RuleMatch, InterchangeableOperandsAreTriedOnce) {
  const ValueId x = input({3});
  const ValueId z = input({3});
  rewrites("rule r\n  source y = a + b\n  target y = b + a\n", {op("add", {x, z})});
  EXPECT_EQ(matches_, 1);
}

TEST_F(RuleMatch, AVariableIsOneValue) {
  const ValueId x = input({3});
  const ValueId z = input({3});
  const std::string rule = "rule r\n  source y = x * 2 + x\n  target y = x * 3\n";
  EXPECT_EQ(rewrites(rule, {op("add", {op("mul", {x, constant({}, 2)}), x})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {op("add", {op("mul", {x, constant({}, 2)}), z})}).empty());
}

TEST_F(RuleMatch, ALiteralIsTheNearestValueOfTheType) {
  const ValueId x = input({dim("N"), 4});
  const std::string rule =
      "rule r\n  source\n    y = x * clip(x + 3, min: 0, max: 6) * (1/6)\n  target\n    y = x * hard_sigmoid(x, alpha: 1/6, beta: 1/2)\n";
  const auto graph = [&](double sixth, std::vector<std::int64_t> dims) {
    const ValueId clipped = op("clip", {op("add", {constant(dims, 3), x})}, {{"min", ir::Real(0)}, {"max", ir::Real(6)}});
    return op("mul", {constant({1}, sixth), op("mul", {clipped, x})});
  };
  const ValueId result = rewritten(rule, graph(0.16666667F, {}));
  EXPECT_EQ(ops::get(arena_.node(result).op).signature.name, "mul");
  EXPECT_EQ(rewrites(rule, {graph(0.16666667F, {1, 1})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {graph(0.1666667F, {})}).empty());
}

TEST_F(RuleMatch, AScalarThatAddsDimensionsIsNoCandidate) {
  const ValueId x = input({4});
  const std::string rule = "rule r\n  source y = x * 1\n  target y = x\n";
  EXPECT_EQ(rewritten(rule, op("mul", {x, constant({1}, 1)})), x);
  EXPECT_EQ(rewritten(rule, op("mul", {x, constant({4}, 1)})), x);
  EXPECT_TRUE(rewrites(rule, {op("mul", {x, constant({1, 1}, 1)})}).empty());
}

TEST_F(RuleMatch, ZeroIsNotMinusZero) {
  const ValueId x = input({4});
  const std::string rule = "rule r\n  source y = x - 0\n  target y = x\n";
  EXPECT_EQ(rewritten(rule, op("sub", {x, constant({1}, 0)})), x);
  EXPECT_TRUE(rewrites(rule, {op("sub", {x, constant({1}, -0.0)})}).empty()) << "-0 - (-0) is 0";
}

TEST_F(RuleMatch, AddedZerosStayButWithFastMath) {
  const ValueId x = input({4});
  const ValueId graph = op("add", {x, constant({1}, 0)});
  const std::string rule = "rule r\n  source y = x + 0\n  target y = x\n";
  EXPECT_TRUE(rewrites(rule, {graph}).empty()) << "-0 + 0 is 0";
  MatchOptions options;
  options.fast_math = true;
  EXPECT_EQ(rewrites(rule, {graph}, options).size(), 1U);
}

constexpr std::string_view kMerge = R"(rule merge
  with
    x: [B.., M, K], a: [K, N], b: [K, P]
  source
    y1 = matmul(x, a)
    y2 = matmul(x, b)
  target
    y = matmul(x, concat(a, b, axis: -1))
    y1, y2 = split(y, axis: -1, sizes: [N, P])
)";

TEST_F(RuleMatch, ConstantsOfTheSourceAreWhatTheModelMakes) {
  const std::string rule =
      "rule r\n  with x: [M, K], z: [K, K]\n  source y = matmul(x, add(z, identity_matrix(size: K)))\n  target y = add(matmul(x, z), x)\n";
  const ValueId x = input({dim("N"), 4});
  const ValueId z = input({4, 4});
  const auto identity = [&](std::int64_t size, DataType type = DataType::float32) {
    return op("identity_matrix", {}, {{"size", Poly(size)}, {"data_type", type}});
  };
  const ValueId expected = op("add", {op("matmul", {x, z}), x});
  EXPECT_EQ(rewritten(rule, op("matmul", {x, op("add", {z, identity(4)})})), expected);
  EXPECT_EQ(rewritten(rule, op("matmul", {x, op("add", {identity(4), z})})), expected);
  // One of another size is broadcast, and one of other elements no identity.
  EXPECT_TRUE(rewrites(rule, {op("matmul", {x, op("add", {z, identity(1)})})}).empty());
  EXPECT_TRUE(rewrites(rule, {op("matmul", {x, op("add", {z, constant({4, 4}, 1)})})}).empty());
  const ValueId i = input({3, 3}, DataType::int32);
  EXPECT_TRUE(rewrites(rule, {op("matmul", {i, op("add", {i, identity(3, DataType::int32)})})}).empty());
}

TEST_F(RuleMatch, TensorsOfOneNumberInTheSourceHaveThatNumber) {
  const std::string rule =
      "rule r\n  with x: [M, K]\n  source y = matmul(x, ones(shape: [K, 1]))\n  target y = reduce_sum(x, axes: [1], keep_dims: 1)\n";
  const ValueId x = input({2, 3});
  const auto filled = [&](std::vector<Poly> shape, int value) {
    return op("full", {}, {{"shape", std::move(shape)}, {"value", ir::Real(value)}, {"data_type", DataType::float32}});
  };
  const ValueId expected = op("reduce_sum", {x}, {{"axes", std::vector<Poly>{1}}, {"keep_dims", Poly(1)}});
  EXPECT_EQ(rewritten(rule, op("matmul", {x, filled({3, 1}, 1)})), expected);
  EXPECT_TRUE(rewrites(rule, {op("matmul", {x, filled({3, 1}, 2)})}).empty());
  EXPECT_TRUE(rewrites(rule, {op("matmul", {x, filled({3, 2}, 1)})}).empty());
}

TEST_F(RuleMatch, FindsASecondRootAmongTheUsersOfAValue) {
  const ValueId x = input({dim("N"), 7, 5});
  const ValueId a = constant({5, 3}, 1);
  const ValueId b = constant({5, 4}, 2);
  const std::vector<ir::Graph> graphs = rewrites(kMerge, {op("relu", {op("matmul", {x, a})}), op("tanh", {op("matmul", {x, b})})});
  // Once, not once for each order.
  ASSERT_EQ(graphs.size(), 1U);
  const ValueId product = op("matmul", {x, op("concat", {a, b}, {{"axis", Poly(1)}})});
  const ir::NodeId split = op("split", {product}, {{"axis", Poly(2)}, {"sizes", ir::polys(std::vector<std::int64_t>{3, 4})}}).node;
  EXPECT_EQ(graphs[0].outputs[0], op("relu", {ValueId{split, 0}}));
  EXPECT_EQ(graphs[0].outputs[1], op("tanh", {ValueId{split, 1}}));
}

TEST_F(RuleMatch, FindsASecondRootAboveTheUsersOfAValue) {
  const std::string rule =
      "rule r\n  with\n    x: [B.., M, K]\n    a: [K, N]\n    b: [K, P]\n  source\n    y1 = relu(matmul(x, a))\n    y2 = relu(matmul(x, "
      "b))\n"
      "  target\n    y = relu(matmul(x, concat(a, b, axis: -1)))\n    y1, y2 = split(y, axis: -1, sizes: [N, P])\n";
  const ValueId x = input({dim("N"), 7, 5});
  const ValueId a = constant({5, 3}, 1);
  const ValueId b = constant({5, 4}, 2);
  const std::vector<ir::Graph> graphs = rewrites(rule, {op("relu", {op("matmul", {x, a})}), op("relu", {op("matmul", {x, b})})});
  ASSERT_EQ(graphs.size(), 1U);
}

TEST_F(RuleMatch, RootsAreDifferentOperations) {
  const ValueId x = input({7, 5});
  EXPECT_TRUE(rewrites(kMerge, {op("matmul", {x, constant({5, 3})})}).empty());
}

TEST_F(RuleMatch, DeclaredTypesBindDimensions) {
  const ValueId x = input({2, 7, 5});
  // A batched operand does not have the declared type.
  EXPECT_TRUE(rewrites(kMerge, {op("matmul", {x, constant({2, 5, 3})}), op("matmul", {x, constant({5, 4})})}).empty());
  // A dimension is solved for by exact division.
  const std::string rule =
      "rule r\n  with\n    x: [2 * C + 1, g * C]\n  source\n    y = reshape(x, shape: [(2 * C + 1) * g * C])\n  target\n    y = reshape(x, "
      "shape: [C * g + 2 * g * C * C])\n";
  const Poly c = dim("C");
  const Poly g = dim("G");
  EXPECT_EQ(matches_, 0);
  const ValueId z = input({c * 2 + 1, g * c});
  rewrites(rule, {op("reshape", {z}, {{"shape", std::vector<Poly>{(c * 2 + 1) * g * c}}})});
  EXPECT_EQ(matches_, 1);
  const ValueId odd = input({6, 12});
  rewrites(rule, {op("reshape", {odd}, {{"shape", std::vector<Poly>{Poly(72)}}})});
  EXPECT_EQ(matches_, 0);
}

TEST_F(RuleMatch, WhereEveryOptionalDimensionIsOneSoIsTheDimension) {
  const std::string rule =
      "rule r\n  with x: [M?, K], z: [M?, K]\n  source y = relu(add(x, z))\n  target y = relu(add(add(z, x), zeros(shape: [M, K])))\n";
  const auto of = [&](Poly rows, Poly other) {
    return rewrites(rule, {op("relu", {op("add", {input({rows, 4}), input({other, 4})})})}).size();
  };
  EXPECT_EQ(of(3, 3), 1U);
  EXPECT_EQ(of(3, 1), 1U);
  EXPECT_EQ(of(1, 1), 1U);
  EXPECT_EQ(of(dim("N"), 1), 1U);
}

TEST_F(RuleMatch, InnerValuesMayBeUsedElsewhere) {
  const ValueId x = input({3});
  const ValueId inner = op("relu", {x});
  const std::string rule = "rule r\n  source y = relu(relu(x))\n  target y = relu(x)\n";
  EXPECT_EQ(rewrites(rule, {op("relu", {inner}), op("tanh", {inner})}).size(), 1U);
  const std::string once = "rule r\n  source\n    z = relu(x)\n    y = relu(z)\n  target\n    y = relu(x)\n  where uses(z) = 1\n";
  EXPECT_TRUE(rewrites(once, {op("relu", {inner}), op("tanh", {inner})}).empty());
  EXPECT_EQ(rewrites(once, {op("relu", {inner})}).size(), 1U);
}

TEST_F(RuleMatch, GuardsThatCannotBeDecidedDoNotHold) {
  const std::string rule = "rule r\n  with x: [N]\n  source y = relu(relu(x))\n  target y = relu(x)\n  where N >= 2\n";
  EXPECT_EQ(rewrites(rule, {op("relu", {op("relu", {input({2})})})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {op("relu", {op("relu", {input({1})})})}).empty());
  EXPECT_TRUE(rewrites(rule, {op("relu", {op("relu", {input({dim("N")})})})}).empty());
  EXPECT_EQ(rewrites(rule, {op("relu", {op("relu", {input({dim("N") + 1})})})}).size(), 1U);
}

TEST_F(RuleMatch, ConstantsAreKnownBeforeTheRun) {
  const std::string rule = "rule r\n  source y = x + s + t\n  target y = x + (s + t)\n  where const(s) and const(t)\n";
  const ValueId x = input({3});
  const ValueId c = op("sqrt", {constant({3}, 2)});
  EXPECT_EQ(rewrites(rule, {op("add", {op("add", {x, c}), constant({3}, 1)})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {op("add", {op("add", {x, c}), input({3})})}).empty());
  // An expression of constants is not rewritten.
  EXPECT_TRUE(rewrites(rule, {op("add", {op("add", {constant({3}, 7), c}), constant({3}, 1)})}).empty());
}

TEST_F(RuleMatch, WhatVariesDependsOnAnInput) {
  const std::string rule = "rule r\n  source y = x + t + z\n  target y = x + z + t\n  where const(t) and varies(z)\n";
  const ValueId x = input({3});
  const ValueId c = constant({3}, 1);
  const ValueId d = constant({3}, 2);
  EXPECT_TRUE(rewrites(rule, {op("add", {op("add", {x, c}), d})}).empty());
  const ValueId z = input({3});
  EXPECT_EQ(rewritten(rule, op("add", {op("add", {x, c}), z})), op("add", {op("add", {x, z}), c}));
  EXPECT_EQ(print(parsed(rule)[0].guards[1]), "varies(z)");
}

TEST_F(RuleMatch, VariadicOperands) {
  const std::string rule = "rule r\n  source y = relu(concat(xs.., axis: a))\n  target y = relu(concat(xs.., axis: a))\n";
  const ValueId x = input({2, 3});
  std::vector<ValueId> operands = {x, x, x};
  rewrites(rule, {op("relu", {op("concat", operands, {{"axis", Poly(1)}})})});
  EXPECT_EQ(matches_, 1);
  operands = {x, x, x, x, x};  // more than are proved
  rewrites(rule, {op("relu", {op("concat", operands, {{"axis", Poly(1)}})})});
  EXPECT_EQ(matches_, 0);
}

TEST_F(RuleMatch, NegativeAxesCountFromTheEnd) {
  const std::string rule = "rule r\n  source y = concat(x, axis: -1)\n  target y = x\n";
  const ValueId x = input({2, 3});
  EXPECT_EQ(rewrites(rule, {op("concat", {x}, {{"axis", Poly(1)}})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {op("concat", {x}, {{"axis", Poly(0)}})}).empty());
}

TEST_F(RuleMatch, DroppedOperandsNeedFiniteValuesOrFastMath) {
  const std::string rule = "rule r\n  source y = x - x + z\n  target y = z\n";
  ASSERT_EQ(parsed(rule)[0].float_class, FloatClass::special);
  const ValueId x = input({3});
  const ValueId graph = op("add", {op("sub", {x, x}), input({3})});
  EXPECT_TRUE(rewrites(rule, {graph}).empty());
  MatchOptions options;
  options.fast_math = true;
  EXPECT_EQ(rewrites(rule, {graph}, options).size(), 1U);
}

TEST_F(RuleMatch, GuardsOnElements) {
  const ValueId x = input({2});
  const auto of = [&](std::vector<double> values) { return arena_.constant(*ir::make_constant(DataType::float32, {2}, values)); };
  const auto matches = [&](std::string_view guard, ValueId s) {
    return rewrites("rule r\n  source y = x * s\n  target y = s * x\n  where " + std::string(guard) + "\n", {op("mul", {x, s})}).size();
  };
  EXPECT_EQ(matches("nonzero(s)", of({1, -2})), 1U);
  EXPECT_EQ(matches("nonzero(s)", of({1, 0})), 0U);
  EXPECT_EQ(matches("positive(s)", of({1, 2})), 1U);
  EXPECT_EQ(matches("positive(s)", of({1, -2})), 0U);
  EXPECT_EQ(matches("nonnegative(s)", of({1, 0})), 1U);
  EXPECT_EQ(matches("nonnegative(s)", of({1, -1})), 0U);
  EXPECT_EQ(matches("finite(s)", of({1, 0})), 1U);
  EXPECT_EQ(matches("finite(s)", of({1, INFINITY})), 0U);
  EXPECT_EQ(matches("equal(s, 1/6)", of({1.0F / 6, 1.0F / 6})), 1U);
  EXPECT_EQ(matches("equal(s, 1/6)", of({1.0F / 6, 1})), 0U);
  // Nothing is known of the elements of an input.
  EXPECT_EQ(matches("nonzero(s)", input({2})), 0U);
  // A comparison with not-a-number is never true.
  EXPECT_EQ(matches("nonzero(s)", of({1, NAN})), 0U);
}

TEST_F(RuleMatch, IndicesHaveToBeKnownToBeInRange) {
  const std::string rule =
      "rule r\n  with\n    x: [N, B], i: int64[K]\n  source\n    y = gather(x, i, axis: 0)\n  target\n"
      "    y = matmul(one_hot(i, axis: 1, depth: N), x)\n  where in_range(i, 0, N)\n";
  const ValueId x = input({4, dim("B")});
  const auto count = [&](ValueId i) { return rewrites(rule, {op("gather", {x, i}, {{"axis", Poly(0)}})}).size(); };
  const auto indices = [&](std::vector<std::int64_t> values) {
    const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(values.size())};
    return arena_.constant(ir::make_integer_constant(DataType::int64, dims, values));
  };
  EXPECT_EQ(count(indices({0, 3, 3})), 1U);
  EXPECT_EQ(count(indices({0, 4, 3})), 0U);
  EXPECT_EQ(count(indices({0, -1, 3})), 0U);
  // Values that are not known, or too many to look at.
  EXPECT_EQ(count(input({3}, DataType::int64)), 0U);
  EXPECT_EQ(count(indices(std::vector<std::int64_t>(ir::Constant::kSmall, 1))), 1U);
  EXPECT_EQ(count(indices(std::vector<std::int64_t>(ir::Constant::kSmall + 1, 1))), 0U);
}

TEST_F(RuleMatch, NumbersOfAnyRankAreScalarsInTheTarget) {
  const std::string rule =
      "rule r\n  with\n    x: [M, K], a: [K, N]\n  source\n    y = matmul(x, a) * s\n  target\n    y = matmul(x, a * s)\n  where "
      "scalar(s)\n";
  const ValueId x = input({3, 4});
  const ValueId a = input({4, 5});
  const ValueId s = constant({1, 1}, 2);
  const ValueId scalar = op("reshape", {s}, {{"shape", std::vector<Poly>{}}});
  EXPECT_EQ(rewritten(rule, op("mul", {op("matmul", {x, a}), s})), op("matmul", {x, op("mul", {a, scalar})}));
  EXPECT_EQ(rewritten(rule, op("mul", {constant({}, 2), op("matmul", {x, a})})), op("matmul", {x, op("mul", {a, constant({}, 2)})}));
  // One of higher rank makes the result another one.
  EXPECT_TRUE(rewrites(rule, {op("mul", {op("matmul", {x, a}), constant({1, 1, 1}, 2)})}).empty());
  EXPECT_TRUE(rewrites(rule, {op("mul", {op("matmul", {x, a}), constant({5}, 2)})}).empty());
}

TEST_F(RuleMatch, EmptyTensorsAreOutsideOfProofsWithShapes) {
  const std::string rule = "rule r\n  source y = concat(x, axis: a)\n  target y = x\n";
  EXPECT_EQ(rewrites(rule, {op("concat", {input({2, 3})}, {{"axis", Poly(0)}})}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {op("concat", {input({0, 3})}, {{"axis", Poly(0)}})}).empty());
}

TEST_F(RuleMatch, RealVariablesAreFinite) {
  const std::string rule = "rule r\n  source y = clip(clip(x, min: a, max: b), min: a, max: b)\n  target y = clip(x, min: a, max: b)\n";
  const auto clip = [&](ValueId x, double low, double high) {
    return op("clip", {x}, {{"min", ir::Real::from_double(low)}, {"max", ir::Real::from_double(high)}});
  };
  const ValueId x = input({2});
  EXPECT_EQ(rewrites(rule, {clip(clip(x, 0, 6), 0, 6)}).size(), 1U);
  EXPECT_TRUE(rewrites(rule, {clip(clip(x, 0, 6), 0, 5)}).empty());
  EXPECT_TRUE(rewrites(rule, {clip(clip(x, 0, INFINITY), 0, INFINITY)}).empty());
}

TEST_F(RuleMatch, DataTypes) {
  const std::string compute = "rule r\n  source y = abs(abs(x))\n  target y = abs(x)\n";
  const std::string move = "rule r\n  source y = identity(identity(x))\n  target y = x\n";
  const ValueId integers = input({3}, DataType::int64);
  // Proved over the reals; rules that compute nothing hold for all types.
  EXPECT_TRUE(rewrites(compute, {op("abs", {op("abs", {integers})})}).empty());
  EXPECT_EQ(rewrites(move, {op("identity", {op("identity", {integers})})}).size(), 1U);
  EXPECT_EQ(rewrites(compute, {op("abs", {op("abs", {input({3}, DataType::float16)})})}).size(), 1U);
}

TEST(RuleFiles, ThatCannotBeRead) {
  const auto missing = read_rule_file("/nowhere/at.rules");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(), "/nowhere/at.rules: cannot open: No such file or directory");
  const auto endless = read_rule_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().text(), "/dev/zero: a file of rules has at most 16 MiB");
  const auto empty = rule_files(places::repository() + "/include/xflow");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().text(), places::repository() + "/include/xflow: no file *.rules in this folder");
}

TEST(Pattern, OfASourceThatIsNotConnected) {
  const auto pattern = Pattern::compile(parsed("rule r\n  source\n    y = relu(x)\n    z = relu(w)\n  target\n    y = x\n    z = w\n")[0]);
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().text(), "test.rules:1:6: the source is not connected: its outputs share no value");
}

TEST(VerifiedRules, LetInProvedRulesOnly) {
  const std::string text = "rule r\n  source y = relu(relu(x))\n  target y = relu(x)\n";
  VerifiedRules none({});
  const auto refused = none.add(text, "f.rules");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_proved);
  EXPECT_EQ(refused.error().text(), "f.rules:1:6: rule r is not proved, so it cannot be applied");
  EXPECT_EQ(none.size(), 0U);
  const std::vector<RuleHash> proved = {parsed(text)[0].hash};
  VerifiedRules listed(proved);
  EXPECT_TRUE(listed.add(text, "f.rules"));
  EXPECT_EQ(listed.size(), 1U);
  VerifiedRules asked({}, [](const Rule& rule) { return rule.name == "r"; });
  EXPECT_TRUE(asked.add(text, "f.rules"));
  EXPECT_EQ(asked.rooted_at(ops::id_of("relu")).size(), 1U);
  EXPECT_TRUE(asked.add_known(text, "f.rules")) << "which is left out, not refused";
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_TRUE(listed.add_known(text + "rule s\n  source y = abs(abs(x))\n  target y = abs(x)\n", "f.rules"));
  EXPECT_EQ(listed.size(), 2U);
  EXPECT_FALSE(asked.skip("q"));
  EXPECT_TRUE(asked.skip("r"));
  EXPECT_EQ(asked.size(), 0U);
}

// A range that the model stores is that of the rule, if it has its numbers and its shape.
TEST_F(RuleMatch, FindsAStoredRange) {
  const std::string rule =
      "rule r\n  with i: int64[N, 1]\n  source y = cast(equal(i, iota(shape: [K], data_type: int64)), to: float32)\n"
      "  target y = cast(equal(i, iota(shape: [K], data_type: int64)), to: float32)\n";
  const ValueId i = input({dim("N"), 1}, DataType::int64);
  const auto compared = [&](DataType type, std::vector<std::int64_t> dims, const std::vector<double>& numbers) {
    const ValueId stored = arena_.constant(*ir::make_constant(type, std::move(dims), numbers));
    return op("cast", {op("equal", {i, stored})}, {{"to", DataType::float32}});
  };
  rewrites(rule, {compared(DataType::int64, {3}, {0, 1, 2})});
  EXPECT_EQ(matches_, 1);
  rewrites(rule, {compared(DataType::int64, {3}, {0, 1, 3})});
  EXPECT_EQ(matches_, 0);
  rewrites(rule, {compared(DataType::int64, {3}, {1, 2, 3})});
  EXPECT_EQ(matches_, 0);
  rewrites(rule, {compared(DataType::int64, {1, 3}, {0, 1, 2})});
  EXPECT_EQ(matches_, 0);
  // A stored -0 is not the 0 of a range.
  const std::string floating = "rule r\n  source y = x + iota(shape: [K])\n  target y = iota(shape: [K]) + x\n";
  const auto shifted = [&](double first) {
    const ValueId stored = arena_.constant(*ir::make_constant(DataType::float32, {3}, std::vector<double>{first, 1, 2}));
    return op("add", {input({3}), stored});
  };
  rewrites(floating, {shifted(0.0)});
  EXPECT_EQ(matches_, 1);
  rewrites(floating, {shifted(-0.0)});
  EXPECT_EQ(matches_, 0);
  const ValueId made = op("iota", {}, {{"shape", std::vector<Poly>{3}}, {"data_type", DataType::int64}});
  rewrites(rule, {op("cast", {op("equal", {i, made})}, {{"to", DataType::float32}})});
  EXPECT_EQ(matches_, 1);
}

}  // namespace
}  // namespace xflow::rules
