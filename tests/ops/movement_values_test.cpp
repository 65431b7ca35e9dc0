// What the operators that move data compute on known integers: their index notation, evaluated at every output index.
#include "src/ops/integer_content.h"
#include "tests/ops/movement_world.h"

namespace xflow::ops {
namespace {

using ir::Poly;
using Integers = std::vector<std::int64_t>;

ir::ValueId tensor(MovementWorld& world, Integers dims, Integers values) {
  return world.arena.constant(ir::make_integer_constant(ir::DataType::int64, std::move(dims), values));
}

// 0, 1, 2, ...
ir::ValueId counted(MovementWorld& world, Integers dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  Integers values;
  for (std::int64_t k = 0; k < size; ++k) values.push_back(k);
  return tensor(world, std::move(dims), std::move(values));
}

Integers values(MovementWorld& world, ir::ValueId value) {
  const auto elements = integer_content(world.arena, value);
  EXPECT_TRUE(elements) << "unknown";
  Integers result;
  for (const Poly& element : elements.value_or(std::vector<Poly>{})) result.push_back(element.constant().value_or(-999));
  return result;
}

TEST(MovementValues, PadRepeatsWhatItsModeSays) {
  MovementWorld world;
  const ir::ValueId x = counted(world, {4});
  const auto padded = [&](const char* mode, std::int64_t begin, std::int64_t end) {
    return values(
        world, world.make("pad", {x},
                          {{"begins", ir::Shape{begin}}, {"ends", ir::Shape{end}}, {"mode", std::string(mode)}, {"value", ir::Real(9)}}));
  };
  EXPECT_EQ(padded("constant", 2, 1), (Integers{9, 9, 0, 1, 2, 3, 9}));
  EXPECT_EQ(padded("edge", 2, 3), (Integers{0, 0, 0, 1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(padded("reflect", 3, 2), (Integers{3, 2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded("wrap", 5, 2), (Integers{3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1}));
}

TEST(MovementValues, SpaceToDepthUndoesDepthToSpace) {
  MovementWorld world;
  const ir::ValueId x = counted(world, {1, 8, 2, 3});
  const ir::ValueId y = world.make("depth_to_space", {x}, {{"block", Poly(2)}});
  EXPECT_EQ(values(world, world.make("space_to_depth", {y}, {{"block", Poly(2)}})), values(world, x));
  // The first example of ONNX's DepthToSpace.
  const ir::ValueId channels = counted(world, {1, 4, 1, 1});
  EXPECT_EQ(values(world, world.make("depth_to_space", {channels}, {{"block", Poly(2)}})), (Integers{0, 1, 2, 3}));
  const ir::ValueId two = counted(world, {1, 8, 1, 1});
  EXPECT_EQ(values(world, world.make("depth_to_space", {two}, {{"block", Poly(2)}})), (Integers{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(values(world, world.make("depth_to_space", {two}, {{"block", Poly(2)}, {"order", std::string("column_first")}})),
            (Integers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(MovementValues, ReshapeKeepsTheRowMajorOrder) {
  MovementWorld world;
  const ir::ValueId x = counted(world, {4, 6, 5});
  for (const ir::Shape& shape : {ir::Shape{120}, ir::Shape{3, 8, 5}, ir::Shape{1, 2, 2, 6, 5, 1}, ir::Shape{8, 15}, ir::Shape{5, 24}}) {
    EXPECT_EQ(values(world, world.make("reshape", {x}, {{"shape", shape}})), values(world, x));
  }
}

TEST(MovementValues, TransposeOfARowIsAColumn) {
  MovementWorld world;
  EXPECT_EQ(values(world, world.make("transpose", {counted(world, {2, 3})}, {{"perm", ir::Shape{1, 0}}})), (Integers{0, 3, 1, 4, 2, 5}));
}

TEST(MovementValues, IndicesCountFromTheEndWhereTheyAreNegative) {
  MovementWorld world;
  const ir::ValueId x = counted(world, {2, 3});
  EXPECT_EQ(values(world, world.make("gather", {x, world.integers({-1, 0})}, {{"axis", Poly(1)}})), (Integers{2, 0, 5, 3}));
  EXPECT_EQ(values(world, world.make("gather_elements", {x, tensor(world, {2, 2}, {0, -1, 1, -3})}, {{"axis", Poly(1)}})),
            (Integers{0, 2, 4, 3}));
  EXPECT_EQ(values(world, world.make("gather_nd", {x, tensor(world, {2, 2}, {0, -1, -1, 0})})), (Integers{2, 3}));
}

TEST(MovementValues, OneHotIgnoresIndicesThatNameNothing) {
  MovementWorld world;
  const ir::ValueId y =
      world.make("one_hot", {world.integers({0, -1, 3, -4})}, {{"axis", Poly(1)}, {"depth", Poly(3)}, {"data_type", ir::DataType::int64}});
  EXPECT_EQ(values(world, y), (Integers{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(MovementValues, ConcatSplitSliceTileAndTriangles) {
  MovementWorld world;
  const ir::ValueId x = counted(world, {2, 2});
  const ir::ValueId joined = world.make("concat", {x, tensor(world, {2, 1}, {7, 8}), x}, {{"axis", Poly(1)}});
  EXPECT_EQ(values(world, joined), (Integers{0, 1, 7, 0, 1, 2, 3, 8, 2, 3}));
  const ir::ValueId parts = world.make("split", {joined}, {{"axis", Poly(1)}, {"sizes", ir::Shape{2, 1, 2}}});
  EXPECT_EQ(values(world, {parts.node, 1}), (Integers{7, 8}));
  EXPECT_EQ(
      values(world, world.make("slice", {joined}, {{"starts", ir::Shape{1, 4}}, {"sizes", ir::Shape{2, 3}}, {"steps", ir::Shape{-1, -2}}})),
      (Integers{3, 8, 2, 1, 7, 0}));
  EXPECT_EQ(values(world, world.make("tile", {x}, {{"repeats", ir::Shape{1, 2}}})), (Integers{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(values(world, world.make("trilu", {counted(world, {3, 3})}, {{"diagonal", Poly(1)}})), (Integers{0, 1, 2, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(
      values(world, world.make("identity_kernel", {},
                               {{"channels", Poly(4)}, {"kernel", ir::Shape{2}}, {"groups", Poly(2)}, {"data_type", ir::DataType::int64}})),
      (Integers{1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(MovementValues, ResizeRoundsThePlaceThatItsCoordinatesSay) {
  struct Case {
    std::int64_t in;
    std::int64_t numerator;
    std::int64_t denominator;
    const char* coordinates;
    const char* rounding;
    Integers expected;
  };
  // Expected values follow ONNX's reference implementation.
  const std::vector<Case> cases = {
      {4, 2, 1, "half_pixel", "round_prefer_floor", {0, 0, 1, 1, 2, 2, 3, 3}},
      {4, 1, 2, "half_pixel", "round_prefer_floor", {0, 2}},
      {4, 1, 2, "half_pixel", "round_prefer_ceil", {1, 3}},
      {4, 7, 4, "align_corners", "floor", {0, 0, 1, 1, 2, 2, 3}},
      {4, 7, 4, "align_corners", "ceil", {0, 1, 1, 2, 2, 3, 3}},
      {3, 5, 3, "asymmetric", "floor", {0, 0, 1, 1, 2}},
      {3, 5, 3, "asymmetric", "ceil", {0, 1, 2, 2, 2}},
      {5, 1, 5, "pytorch_half_pixel", "floor", {0}},
      {5, 1, 2, "half_pixel_symmetric", "floor", {1, 3}},
  };
  MovementWorld world;
  for (const Case& c : cases) {
    const ir::ValueId y = world.make("resize", {counted(world, {c.in})},
                                     {{"numerators", ir::Shape{c.numerator}},
                                      {"denominators", ir::Shape{c.denominator}},
                                      {"coordinates", std::string(c.coordinates)},
                                      {"rounding", std::string(c.rounding)}});
    EXPECT_EQ(values(world, y), c.expected) << c.in << " * " << c.numerator << "/" << c.denominator << " " << c.coordinates << " "
                                            << c.rounding;
  }
}

}  // namespace
}  // namespace xflow::ops
