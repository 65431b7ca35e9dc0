#include "src/ops/integer_content.h"

#include "tests/ops/movement_world.h"

namespace xflow::ops {
namespace {

using ir::Poly;

std::string content(MovementWorld& world, ir::ValueId value) {
  const auto elements = integer_content(world.arena, value);
  return elements ? world.arena.symbols().to_string(*elements) : "unknown";
}

ir::ValueId shape_of(MovementWorld& world, ir::Shape shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return world.make("shape", {world.input(std::move(shape))}, {{"start", Poly(0)}, {"end", Poly(rank)}});
}

TEST(IntegerContent, OfAConstantIsItsElements) {
  MovementWorld world;
  EXPECT_EQ(content(world, world.integers({3, -1, 7})), "[3, -1, 7]");
  EXPECT_EQ(content(world, world.integer(5)), "[5]");
}

TEST(IntegerContent, OfAShapeIsItsDimensions) {
  MovementWorld world;
  EXPECT_EQ(content(world, shape_of(world, {world.dim("N"), 3, 2 * world.dim("H")})), "[N, 3, 2*H]");
}

TEST(IntegerContent, FollowsTheUsualShapeArithmetic) {
  MovementWorld world;
  const ir::ValueId shape = shape_of(world, {world.dim("N"), 3, world.dim("H")});
  const ir::ValueId h = world.make("gather", {shape, world.integer(-1)});
  EXPECT_EQ(content(world, h), "[H]");
  const ir::ValueId doubled = world.make("mul", {h, world.integer(2)});
  const ir::ValueId list = world.make("reshape", {doubled}, {{"shape", ir::Shape{1}}});
  const ir::ValueId front = world.make("slice", {shape}, {{"starts", ir::Shape{0}}, {"sizes", ir::Shape{2}}, {"steps", ir::Shape{1}}});
  const ir::ValueId all = world.make("concat", {front, list, world.integers({-1})}, {{"axis", Poly(0)}});
  EXPECT_EQ(content(world, all), "[N, 3, 2*H, -1]");
  const ir::ValueId half = world.make("div", {all, world.integer(2)});
  EXPECT_EQ(content(world, half), "[floor(N/2), 1, H, 0]");
  EXPECT_EQ(content(world, world.make("sub", {all, world.integer(1)})), "[N - 1, 2, 2*H - 1, -2]");
  EXPECT_EQ(content(world, world.make("neg", {front})), "[-N, -3]");
  EXPECT_EQ(content(world, world.make("cast", {all}, {{"to", ir::DataType::int32}})), "[N, 3, 2*H, -1]");
}

TEST(IntegerContent, SelectsByKnownConditions) {
  MovementWorld world;
  const ir::ValueId shape = world.integers({4, -1, 6});
  const ir::ValueId is_free = world.make("equal", {shape, world.integers({-1, -1, -1})});
  EXPECT_EQ(content(world, is_free), "[0, 1, 0]");
  const ir::ValueId sizes = shape_of(world, {world.dim("A"), world.dim("B"), world.dim("C")});
  EXPECT_EQ(content(world, world.make("select", {is_free, sizes, shape})), "[4, B, 6]");
  EXPECT_EQ(content(world, world.make("equal", {sizes, world.integers({-1, 0, -5})})), "[0, 0, 0]");
}

TEST(IntegerContent, IsUnknownWhereAComparisonIs) {
  MovementWorld world;
  const ir::ValueId sizes = shape_of(world, {world.dim("A"), world.dim("B")});
  EXPECT_EQ(content(world, world.make("less", {sizes, world.integers({4, 4})})), "unknown");
  EXPECT_EQ(content(world, world.make("equal", {sizes, world.integers({4, 4})})), "unknown");
}

TEST(IntegerContent, IsUnknownOfData) {
  MovementWorld world;
  const ir::ValueId data = world.input({2}, ir::DataType::int64);
  EXPECT_EQ(content(world, data), "unknown");
  EXPECT_EQ(content(world, world.make("add", {data, world.integers({1, 2})})), "unknown");
  EXPECT_EQ(content(world, world.make("gather", {world.integers({5, 6}), data})), "unknown");
  EXPECT_EQ(content(world, world.make("shape", {data}, {{"start", Poly(0)}, {"end", Poly(1)}})), "[2]");
}

TEST(IntegerContent, DividesTowardsZero) {
  MovementWorld world;
  EXPECT_EQ(content(world, world.make("div", {world.integers({7, -7, 7, -7}), world.integers({2, 2, -2, -2})})), "[3, -3, -3, 3]");
  EXPECT_EQ(content(world, world.make("div", {world.integers({1}), world.integers({0})})), "unknown");
  // (N - 5) / -2, whose sign depends on N.
  const ir::ValueId less = world.make("sub", {shape_of(world, {world.dim("N")}), world.integers({5})});
  const auto quotient = integer_content(world.arena, world.make("div", {less, world.integers({-2})}));
  ASSERT_TRUE(quotient);
  for (std::int64_t n = 1; n < 12; ++n) {
    EXPECT_EQ(world.arena.symbols().evaluate((*quotient)[0], [&](ir::SymbolId) { return std::optional(n); }), (n - 5) / -2) << n;
  }
}

TEST(IntegerContent, CoversGeneratedIntegers) {
  MovementWorld world;
  EXPECT_EQ(content(world, world.make("range", {}, {{"start", Poly(1)}, {"step", Poly(2)}, {"size", Poly(3)}})), "[1, 3, 5]");
  const ir::ValueId ones = world.make("full", {}, {{"value", ir::Real(1)}, {"shape", ir::Shape{2}}, {"data_type", ir::DataType::int64}});
  EXPECT_EQ(content(world, world.make("expand", {ones}, {{"shape", ir::Shape{2, 2}}})), "[1, 1, 1, 1]");
  EXPECT_EQ(content(world, world.make("size", {world.input({world.dim("N"), 4})})), "[4*N]");
  EXPECT_EQ(content(world, world.make("maximum", {shape_of(world, {world.dim("N")}), world.integers({1})})), "[N]");
}

TEST(IntegerContent, DoesNotClaimValuesThatDoNotFitTheirType) {
  MovementWorld world;
  const ir::ValueId wide = world.integers({std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(content(world, world.make("cast", {wide}, {{"to", ir::DataType::int32}})), "unknown");
  EXPECT_EQ(content(world, world.make("cast", {world.integers({-1})}, {{"to", ir::DataType::uint8}})), "unknown");
}

ir::ValueId real(MovementWorld& world, double value) {
  return world.arena.constant(*ir::make_constant(ir::DataType::float32, {}, std::vector<double>{value}));
}

TEST(IntegerContent, FollowsSizesThroughExactFloatingArithmetic) {
  MovementWorld world;
  const ir::ValueId shape = shape_of(world, {world.dim("N"), 5});
  const ir::ValueId size = world.make("cast", {shape}, {{"to", ir::DataType::float32}});
  const auto integer = [&](ir::ValueId value) { return content(world, world.make("cast", {value}, {{"to", ir::DataType::int64}})); };
  EXPECT_EQ(content(world, size), "unknown");  // asked of integers alone
  EXPECT_EQ(integer(size), "[N, 5]");
  EXPECT_EQ(integer(world.make("mul", {size, real(world, 2)})), "[2*N, 10]");
  EXPECT_EQ(integer(world.make("mul", {size, real(world, 0.5)})), "[floor(N/2), 2]");
  EXPECT_EQ(integer(world.make("ceil", {world.make("div", {size, real(world, 4)})})), "[floor((N + 3)/4), 2]");
  EXPECT_EQ(integer(world.make("mul", {world.make("mul", {size, real(world, 0.25)}), real(world, 4)})), "[N, 5]");
}

TEST(IntegerContent, IsUnknownWhereFloatingArithmeticMayRound) {
  MovementWorld world;
  const ir::ValueId shape = shape_of(world, {world.dim("N"), 5});
  const ir::ValueId size = world.make("cast", {shape}, {{"to", ir::DataType::float32}});
  const auto integer = [&](ir::ValueId value) { return content(world, world.make("cast", {value}, {{"to", ir::DataType::int64}})); };
  EXPECT_EQ(integer(world.make("mul", {size, real(world, 0.7)})), "unknown");
  EXPECT_EQ(integer(world.make("div", {size, real(world, 3)})), "unknown");
  EXPECT_EQ(integer(world.make("div", {size, real(world, 0)})), "unknown");
  EXPECT_EQ(integer(world.make("mul", {size, size})), "unknown");
}

TEST(IntegerContent, GivesUpOnChainsThatNoShapeArithmeticHas) {
  MovementWorld world;
  ir::ValueId value = shape_of(world, {world.dim("N")});
  for (int k = 0; k < 100; ++k) value = world.make("add", {value, world.integers({1})});
  EXPECT_EQ(content(world, value), "[N + 100]");
  for (int k = 0; k < 10000; ++k) value = world.make("add", {value, world.integers({1})});
  EXPECT_EQ(content(world, value), "unknown");
}

}  // namespace
}  // namespace xflow::ops
