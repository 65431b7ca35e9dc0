#include "tests/ops/movement_world.h"

namespace xflow::ops {
namespace {

ir::ValueId reshaped(MovementWorld& world, ir::Shape from, ir::Shape to) {
  return world.make("reshape", {world.input(std::move(from))}, {{"shape", std::move(to)}});
}

TEST(Reshape, HasTheShapeThatItIsGiven) {
  MovementWorld world;
  const ir::Poly n = world.dim("N");
  EXPECT_EQ(world.type(reshaped(world, {n, 2, 3}, {n, 6})), "float32[N, 6]");
}

TEST(Reshape, NeedsAsManyElements) {
  MovementWorld world;
  EXPECT_EQ(world.error("reshape", {world.input({2, 3})}, {{"shape", ir::Shape{4, 2}}}),
            "reshape: expected as many elements as before, found 6 and 8");
  EXPECT_EQ(world.error("reshape", {world.input({2, 3})}, {{"shape", ir::Shape{-6, -1}}}),
            "reshape: expected dimensions of at least 0, found -6");
}

TEST(Reshape, KeepsIndicesOfDimensionsThatLineUp) {
  MovementWorld world;
  const ir::Poly n = world.dim("N");
  const ir::Poly c = world.dim("C");
  EXPECT_EQ(world.notation(reshaped(world, {n, c, 4}, {n, c, 4})), "x[i, j, k]");
  EXPECT_EQ(world.notation(reshaped(world, {n, c}, {n, 1, c, 1})), "x[i, k]");
  EXPECT_EQ(world.notation(reshaped(world, {1, n, 1, c}, {n, c})), "x[0, i, 0, j]");
}

TEST(Reshape, MergesWithDivisionsAndSplitsWithoutThem) {
  MovementWorld world;
  const ir::Poly n = world.dim("N");
  const ir::Poly h = world.dim("H");
  const ir::Poly w = world.dim("W");
  EXPECT_EQ(world.notation(reshaped(world, {n, h, w}, {n, h * w})), "x[i, floor(j/W), -W*floor(j/W) + j]");
  EXPECT_EQ(world.notation(reshaped(world, {n, h * w}, {n, h, w})), "x[i, W*j + k]");
  EXPECT_EQ(world.notation(reshaped(world, {n, 6, w}, {n, 2, 3, w})), "x[i, 3*j + k, l]");
}

TEST(Reshape, CutsAtProductsFromTheBackWhereTheFrontDoesNotMatch) {
  MovementWorld world;
  const ir::Poly n = world.dim("N");
  const ir::Poly c = world.dim("C");
  const ir::Poly rest = world.arena.symbols().floor_div(n * 5, 4);
  EXPECT_EQ(world.notation(reshaped(world, {n, 5, c}, {rest, 4, c})), "x[floor((4*i + j)/5), 4*i + j - 5*floor((4*i + j)/5), k]");
}

TEST(Reshape, OfNothingReadsNothingOutOfRange) {
  MovementWorld world;
  EXPECT_EQ(world.notation(reshaped(world, {0, 3}, {3, 0, 2})), "x[0, 0]");
}

}  // namespace
}  // namespace xflow::ops
