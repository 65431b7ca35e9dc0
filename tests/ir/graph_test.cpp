#include "src/ir/graph.h"

#include <gtest/gtest.h>

namespace xflow::ir {
namespace {

constexpr OperatorId kAdd{1};
constexpr OperatorId kNegate{2};

class GraphTest : public ::testing::Test {
 protected:
  TensorType type(std::int64_t n) { return {DataType::float32, true, {Poly(n)}}; }
  ValueId add(ValueId a, ValueId b) { return {arena.operation(kAdd, {}, {a, b}, {arena.type(a)}), 0}; }
  ValueId negate(ValueId a) { return {arena.operation(kNegate, {}, {a}, {arena.type(a)}), 0}; }
  ValueId number(double v) { return arena.constant(*make_constant(DataType::float32, {1}, std::vector<double>{v})); }

  Arena arena;
  ValueId x = arena.input(type(4), 0);
  ValueId y = arena.input(type(4), 1);
};

TEST_F(GraphTest, StructuralEqualityIsIdentity) {
  EXPECT_EQ(add(x, y), add(x, y));
  EXPECT_NE(add(x, y), add(y, x));
  EXPECT_NE(x, y);
  EXPECT_EQ(number(2), number(2));
  EXPECT_NE(number(2), number(3));
}

TEST_F(GraphTest, OpaqueNodesAreNeverInterned) { EXPECT_NE(arena.opaque(7, {x}, {type(4)}), arena.opaque(7, {x}, {type(4)})); }

TEST_F(GraphTest, ExpressionsOfConstantsAreConstant) {
  EXPECT_TRUE(arena.is_constant(add(number(1), number(2))));
  EXPECT_FALSE(arena.is_constant(add(number(1), x)));
  EXPECT_FALSE(arena.is_constant({arena.opaque(1, {number(1)}, {type(1)}), 0}));
}

TEST_F(GraphTest, ExpressionsOfConstantsWithOpenSizesAreNotConstant) {
  const Poly n = arena.symbols().named(SymbolKind::dimension, "n");
  const std::vector<TensorType> open{{DataType::float32, true, {n}}};
  EXPECT_FALSE(arena.is_constant({arena.operation(kNegate, {}, {}, open), 0}));
  const NodeId last = arena.operation(kNegate, {{"starts", std::vector<Poly>{n - Poly(1)}}}, {number(1)}, {type(1)});
  EXPECT_FALSE(arena.is_constant({last, 0}));
}

TEST_F(GraphTest, LargeConstantsAreInternedByIdentityWithoutReading) {
  class Unreadable final : public ByteSource {
   public:
    std::uint64_t size() const override { return 1 << 20; }
    Result<std::span<const std::byte>> bytes() const override { return fail(ErrorCode::io, "read a large constant"); }
    std::string identity() const override { return "weights:0:1048576"; }
  };
  const Constant a{DataType::uint8, {1 << 20}, std::make_shared<Unreadable>()};
  const Constant b{DataType::uint8, {1 << 20}, std::make_shared<Unreadable>()};
  EXPECT_EQ(arena.constant(a), arena.constant(b));
}

TEST_F(GraphTest, ReplaceRebuildsDownstreamOnly) {
  const ValueId inner = negate(x);
  const ValueId other = negate(y);
  const Graph graph{{add(negate(inner), other), other}};
  ValueMap map{{inner, y}};
  const auto result = replace(arena, graph, map);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outputs[0], add(negate(y), other));
  EXPECT_EQ(result->outputs[1], other);
}

TEST_F(GraphTest, ReplacementsMayUseWhatTheyReplace) {
  const ValueId inner = negate(x);
  const Graph graph{{negate(inner)}};
  ValueMap map{{inner, add(inner, y)}};
  const auto result = replace(arena, graph, map);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outputs[0], negate(add(inner, y)));
}

TEST_F(GraphTest, ReplaceDemandsEqualTypes) {
  const ValueId z = arena.input(type(5), 2);
  ValueMap map{{x, z}};
  const auto result = replace(arena, Graph{{negate(x)}}, map);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "a replacement has type float32[5], expected float32[4]");
}

TEST_F(GraphTest, OrderPutsOperandsFirstAndUsesCountSlotsAndOutputs) {
  const ValueId n = negate(x);
  const ValueId sum = add(n, n);
  const Graph graph{{sum, n}};
  const Uses uses(arena, graph);
  ASSERT_EQ(uses.order().size(), 3U);
  EXPECT_LT(uses.position(x.node), uses.position(n.node));
  EXPECT_LT(uses.position(n.node), uses.position(sum.node));
  EXPECT_EQ(uses.use_count(n), 3U);
  EXPECT_EQ(uses.use_count(sum), 1U);
  ASSERT_EQ(uses.users(n.node).size(), 1U);
  EXPECT_TRUE(verify(arena, graph));
}

TEST_F(GraphTest, HashDoesNotDependOnTheOrderOfConstruction) {
  Arena other;
  const ValueId b = other.input(type(4), 1);
  const ValueId a = other.input(type(4), 0);
  const ValueId sum{other.operation(kAdd, {}, {a, b}, {type(4)}), 0};
  EXPECT_EQ(structural_hash(other, Graph{{sum}}), structural_hash(arena, Graph{{add(x, y)}}));
}

TEST_F(GraphTest, DeepGraphsNeedNoStack) {
  ValueId v = x;
  for (int i = 0; i < 200000; ++i) v = negate(v);
  EXPECT_EQ(topological_order(arena, Graph{{v}}).size(), 200001U);
}

}  // namespace
}  // namespace xflow::ir
