// Types and index notation of the operators that move data.
#include "tests/ops/movement_world.h"

namespace xflow::ops {
namespace {

using ir::Poly;

TEST(Transpose, PermutesDimensions) {
  MovementWorld world;
  const ir::ValueId y = world.make("transpose", {world.input({world.dim("N"), 3, 4})}, {{"perm", ir::Shape{1, 2, 0}}});
  EXPECT_EQ(world.type(y), "float32[3, 4, N]");
  EXPECT_EQ(world.notation(y), "x[k, i, j]");
}

TEST(Transpose, NeedsAPermutation) {
  MovementWorld world;
  const ir::ValueId x = world.input({2, 3});
  EXPECT_EQ(world.error("transpose", {x}, {{"perm", ir::Shape{0, 0}}}),
            "transpose: expected perm to be a permutation of 2 dimensions, found [0, 0]");
  EXPECT_EQ(world.error("transpose", {x}, {{"perm", ir::Shape{0}}}),
            "transpose: expected perm to be a permutation of 2 dimensions, found [0]");
}

TEST(Concat, ReadsTheOperandThatTheIndexFallsInto) {
  MovementWorld world;
  const Poly a = world.dim("A");
  const Poly b = world.dim("B");
  const ir::ValueId y = world.make("concat", {world.input({2, a}), world.input({2, b}), world.input({2, 1})}, {{"axis", Poly(-1)}});
  EXPECT_EQ(world.type(y), "float32[2, A + B + 1]");
  EXPECT_EQ(world.notation(y), "select(A - j - 1 >= 0, x[i, j], select(A + B - j - 1 >= 0, y[i, -A + j], z[i, -A - B + j]))");
}

TEST(Concat, NeedsEqualDimensionsBesideTheAxis) {
  MovementWorld world;
  EXPECT_EQ(world.error("concat", {world.input({2, 3}), world.input({4, 3})}, {{"axis", Poly(1)}}),
            "concat: expected the dimensions beside the axis to be equal, found 2 and 4");
  EXPECT_EQ(world.error("concat", {world.input({2, 3}), world.input({2})}, {{"axis", Poly(1)}}),
            "concat: expected operands of one type and rank, found float32[2, 3] and float32[2]");
  EXPECT_EQ(world.error("concat", {world.input({2}), world.input({2}, ir::DataType::int64)}, {{"axis", Poly(0)}}),
            "concat: expected operands of one type and rank, found float32[2] and int64[2]");
}

TEST(Split, GivesOneOutputForEachSize) {
  MovementWorld world;
  const Poly a = world.dim("A");
  const ir::ValueId y = world.make("split", {world.input({a + 3, 2})}, {{"axis", Poly(0)}, {"sizes", ir::Shape{a, 3}}});
  EXPECT_EQ(world.type(y), "float32[A, 2]");
  EXPECT_EQ(world.type({y.node, 1}), "float32[3, 2]");
  EXPECT_EQ(world.notation(y, 0), "x[i, j]");
  EXPECT_EQ(world.notation(y, 1), "x[A + i, j]");
}

TEST(Split, NeedsSizesThatAddUp) {
  MovementWorld world;
  EXPECT_EQ(world.error("split", {world.input({5})}, {{"axis", Poly(0)}, {"sizes", ir::Shape{2, 2}}}),
            "split: expected the sum of sizes to be the dimension that is split, found 4 and 5");
  EXPECT_EQ(world.error("split", {world.input({5})}, {{"axis", Poly(0)}, {"sizes", ir::Shape{6, -1}}}),
            "split: expected sizes of at least 0, found -1");
}

TEST(Slice, ReadsAtStartPlusStep) {
  MovementWorld world;
  const Poly n = world.dim("N");
  const ir::ValueId y = world.make("slice", {world.input({n, 10})},
                                   {{"starts", ir::Shape{n - 1, 1}}, {"sizes", ir::Shape{n, 4}}, {"steps", ir::Shape{-1, 2}}});
  EXPECT_EQ(world.type(y), "float32[N, 4]");
  EXPECT_EQ(world.notation(y), "x[N - i - 1, 2*j + 1]");
}

TEST(Slice, StaysInsideItsOperand) {
  MovementWorld world;
  const ir::ValueId x = world.input({10});
  const auto error = [&](Poly start, Poly size, Poly step) {
    return world.error("slice", {x}, {{"starts", ir::Shape{start}}, {"sizes", ir::Shape{size}}, {"steps", ir::Shape{step}}});
  };
  EXPECT_EQ(error(0, 10, 1), "no error");
  EXPECT_EQ(error(9, 10, -1), "no error");
  EXPECT_EQ(error(10, 0, 1), "no error");
  EXPECT_EQ(error(0, 11, 1), "slice: expected at least 0 elements after the slice of dimension 0, found -1");
  EXPECT_EQ(error(0, 4, 3), "no error");
  EXPECT_EQ(error(1, 4, 4), "slice: expected at least 0 elements after the slice of dimension 0, found -4");
  EXPECT_EQ(error(-1, 4, 1), "slice: expected the first index in dimension 0 to be at least 0, found -1");
  EXPECT_EQ(error(3, 5, -1), "slice: expected the first index in dimension 0 to be at least 0, found -1");
  EXPECT_EQ(error(0, 1, 0), "slice: expected steps other than 0");
}

TEST(Pad, WithAConstantReadsOnlyInside) {
  MovementWorld world;
  const Poly n = world.dim("N");
  const ir::ValueId y =
      world.make("pad", {world.input({n, 4})}, {{"begins", ir::Shape{0, 1}}, {"ends", ir::Shape{0, 2}}, {"value", ir::Real(3)}});
  EXPECT_EQ(world.type(y), "float32[N, 7]");
  EXPECT_EQ(world.notation(y), "select(j - 1 >= 0 and -j + 4 >= 0, x[i, j - 1], 3)");
}

TEST(Pad, RepeatsElementsInTheOtherModes) {
  MovementWorld world;
  const auto notation = [&](const char* mode, Poly begin, Poly end) {
    return world.notation(world.make("pad", {world.input({world.dim("N")})},
                                     {{"begins", ir::Shape{begin}}, {"ends", ir::Shape{end}}, {"mode", std::string(mode)}}));
  };
  EXPECT_EQ(notation("edge", 2, 0), "x[max(2, i) - 2]");
  EXPECT_EQ(notation("reflect", 2, 0), "x[max(-i + 4, i) - 2]");
  EXPECT_EQ(notation("wrap", 2, 1), "x[-N*floor((i - 2)/N) + i - 2]");
}

TEST(Pad, NeedsSizesThatAreNotNegative) {
  MovementWorld world;
  const ir::ValueId x = world.input({3});
  EXPECT_EQ(world.error("pad", {x}, {{"begins", ir::Shape{-1}}, {"ends", ir::Shape{0}}}),
            "pad: expected 'begins' to be at least 0, found -1");
  EXPECT_EQ(world.error("pad", {x}, {{"begins", ir::Shape{0, 0}}, {"ends", ir::Shape{0}}}),
            "pad: expected 'begins' to have 1 element, found 2");
  EXPECT_EQ(world.error("pad", {x}, {{"begins", ir::Shape{3}}, {"ends", ir::Shape{0}}, {"mode", std::string("reflect")}}),
            "pad: expected fewer reflected elements than the dimension has, found -1");
  EXPECT_EQ(world.error("pad", {x}, {{"begins", ir::Shape{1}}, {"ends", ir::Shape{0}}, {"mode", std::string("mirror")}}),
            "pad: expected mode constant, edge, reflect or wrap, found mirror");
}

TEST(Expand, ReadsDimensionsOfSizeOneAtZero) {
  MovementWorld world;
  const Poly n = world.dim("N");
  const ir::ValueId y = world.make("expand", {world.input({1, n})}, {{"shape", ir::Shape{2, 3, n}}});
  EXPECT_EQ(world.type(y), "float32[2, 3, N]");
  EXPECT_EQ(world.notation(y), "x[0, k]");
  EXPECT_EQ(world.error("expand", {world.input({2})}, {{"shape", ir::Shape{3}}}),
            "expand: expected dimensions that broadcast, found 2 and 3");
  EXPECT_EQ(world.error("expand", {world.input({2})}, {{"shape", ir::Shape{1}}}),
            "expand: expected dimension 0 to be that of the operand, which is not 1, found 2 and 1");
  EXPECT_EQ(world.error("expand", {world.input({2, 2})}, {{"shape", ir::Shape{2}}}),
            "expand: expected shape to have at least 2 elements, found 1");
}

TEST(Tile, ReadsModuloTheDimension) {
  MovementWorld world;
  const Poly n = world.dim("N");
  const ir::ValueId y = world.make("tile", {world.input({n, 1, 5})}, {{"repeats", ir::Shape{3, 4, 1}}});
  EXPECT_EQ(world.type(y), "float32[3*N, 4, 5]");
  EXPECT_EQ(world.notation(y), "x[-N*floor(i/N) + i, 0, k]");
  EXPECT_EQ(world.error("tile", {world.input({2})}, {{"repeats", ir::Shape{-1}}}), "tile: expected 'repeats' to be at least 0, found -1");
}

TEST(Gather, PutsTheIndicesInPlaceOfTheAxis) {
  MovementWorld world;
  const ir::ValueId indices = world.input({7, 2}, ir::DataType::int64);
  const ir::ValueId y = world.make("gather", {world.input({3, 4, 5}), indices}, {{"axis", Poly(1)}});
  EXPECT_EQ(world.type(y), "float32[3, 7, 2, 5]");
  EXPECT_EQ(world.notation(y), "x[i, %1[j, k] - 4*floor(%1[j, k]/4), l]");
  EXPECT_EQ(world.error("gather", {world.input({3}), world.input({2})}),
            "gather: expected operand 'indices' to be of an integer type, found float32[2]");
  EXPECT_EQ(world.error("gather", {world.input({3}), indices}, {{"axis", Poly(1)}}),
            "gather: expected attribute 'axis' to be an axis of 1 dimension, found 1");
}

TEST(GatherElements, ReplacesOneIndex) {
  MovementWorld world;
  const ir::ValueId y = world.make("gather_elements", {world.input({3, 4}), world.input({3, 2}, ir::DataType::int64)}, {{"axis", Poly(1)}});
  EXPECT_EQ(world.type(y), "float32[3, 2]");
  EXPECT_EQ(world.notation(y), "x[i, %1[i, j] - 4*floor(%1[i, j]/4)]");
  EXPECT_EQ(world.error("gather_elements", {world.input({3, 4}), world.input({4, 2}, ir::DataType::int64)}, {{"axis", Poly(1)}}),
            "gather_elements: expected dimension 0 of indices not to exceed that of x, found -1");
}

TEST(GatherNd, NamesSeveralDimensionsAtOnce) {
  MovementWorld world;
  const ir::ValueId y =
      world.make("gather_nd", {world.input({2, 3, 4, 5}), world.input({2, 7, 2}, ir::DataType::int64)}, {{"batch", Poly(1)}});
  EXPECT_EQ(world.type(y), "float32[2, 7, 5]");
  EXPECT_EQ(world.notation(y), "x[i, %1[i, j, 0] - 3*floor(%1[i, j, 0]/3), %1[i, j, 1] - 4*floor(%1[i, j, 1]/4), k]");
  EXPECT_EQ(world.error("gather_nd", {world.input({2}), world.input({7, 2}, ir::DataType::int64)}),
            "gather_nd: expected the last dimension of indices to name dimensions of x after the batch, found x [2] and indices [7, 2]");
}

TEST(Shape, ListsDimensions) {
  MovementWorld world;
  const ir::ValueId y = world.make("shape", {world.input({world.dim("N"), 3, 4})}, {{"start", Poly(0)}, {"end", Poly(2)}});
  EXPECT_EQ(world.type(y), "int64[2]");
  EXPECT_EQ(world.notation(y), "select(i = 0, N, 3)");
  EXPECT_EQ(world.error("shape", {world.input({3})}, {{"start", Poly(0)}, {"end", Poly(2)}}),
            "shape: expected start and end to be a range of 1 dimensions");
}

TEST(Size, IsTheProductOfTheDimensions) {
  MovementWorld world;
  const ir::ValueId y = world.make("size", {world.input({world.dim("N"), 3})});
  EXPECT_EQ(world.type(y), "int64[]");
  EXPECT_EQ(world.notation(y), "3*N");
}

TEST(Range, CountsFromItsStart) {
  MovementWorld world;
  const ir::ValueId y = world.make("range", {}, {{"start", Poly(5)}, {"step", Poly(-2)}, {"size", world.dim("N")}});
  EXPECT_EQ(world.type(y), "int64[N]");
  EXPECT_EQ(world.notation(y), "-2*i + 5");
  EXPECT_EQ(world.error("range", {}, {{"size", Poly(-1)}}), "range: expected size of at least 0, found -1");
  EXPECT_EQ(world.error("range", {}, {{"size", Poly(1)}, {"data_type", ir::DataType::boolean}}),
            "range: expected a type of numbers that Range counts in, found bool");
}

TEST(Full, IsOneValueEverywhere) {
  MovementWorld world;
  const ir::ValueId y = world.make("full", {}, {{"value", *ir::Rational::make(1, 6)}, {"shape", ir::Shape{world.dim("N"), 2}}});
  EXPECT_EQ(world.type(y), "float32[N, 2]");
  EXPECT_EQ(world.notation(y), "1/6");
  // Of an open size it cannot be computed before the run.
  EXPECT_FALSE(world.arena.is_constant(y));
  EXPECT_TRUE(world.arena.is_constant(world.make("full", {}, {{"value", *ir::Rational::make(1, 6)}, {"shape", ir::Shape{3, 2}}})));
}

TEST(GeneratedConstants, AreWhatRulesSayTheyAre) {
  MovementWorld world;
  const Poly c = world.dim("c");
  EXPECT_EQ(world.notation(world.make("identity_matrix", {}, {{"size", c}})), "select(i - j = 0, 1, 0)");
  EXPECT_EQ(world.notation(world.make("iota", {}, {{"shape", ir::Shape{2, c}}, {"axis", Poly(1)}})), "j");
  const ir::ValueId kernel = world.make("identity_kernel", {}, {{"channels", 2 * c}, {"kernel", ir::Shape{3, 1}}, {"groups", Poly(2)}});
  EXPECT_EQ(world.type(kernel), "float32[2*c, c, 3, 1]");
  EXPECT_EQ(world.notation(kernel), "select(c*floor(i/c) - i + j = 0 and k - 1 = 0, 1, 0)");
  EXPECT_EQ(world.error("identity_kernel", {}, {{"channels", Poly(5)}, {"kernel", ir::Shape{3}}, {"groups", Poly(2)}}),
            "identity_kernel: expected groups to divide the channels, found 4 and 5");
  EXPECT_EQ(world.error("iota", {}, {{"shape", ir::Shape{3}}, {"axis", Poly(1)}}), "iota: expected axis to be at least 0 and below 1");
}

TEST(DepthToSpace, TradesChannelsForPixels) {
  MovementWorld world;
  const ir::ValueId x = world.input({1, 8, 2, 3});
  const ir::ValueId y = world.make("depth_to_space", {x}, {{"block", Poly(2)}});
  EXPECT_EQ(world.type(y), "float32[1, 2, 4, 6]");
  EXPECT_EQ(world.type(world.make("space_to_depth", {y}, {{"block", Poly(2)}})), "float32[1, 8, 2, 3]");
  EXPECT_EQ(world.notation(world.make("depth_to_space", {x}, {{"block", Poly(2)}, {"order", std::string("column_first")}})),
            "x[i, 4*j + 2*k + l - 2*floor(l/2) - 4*floor(k/2), floor(k/2), floor(l/2)]");
  EXPECT_EQ(world.error("depth_to_space", {world.input({1, 6, 2, 3})}, {{"block", Poly(2)}}),
            "depth_to_space: expected block * block to divide the channels, found 4 and 6");
  EXPECT_EQ(world.error("space_to_depth", {x}, {{"block", Poly(2)}}), "space_to_depth: expected block to divide the width, found 2 and 3");
}

TEST(OneHot, IsOnWhereTheIndexNames) {
  MovementWorld world;
  const ir::ValueId y =
      world.make("one_hot", {world.input({5}, ir::DataType::int64)}, {{"axis", Poly(0)}, {"depth", Poly(3)}, {"on", ir::Real(2)}});
  EXPECT_EQ(world.type(y), "float32[3, 5]");
  EXPECT_EQ(world.notation(y), "select(-i + %0[j] = 0, 2, select(-i + %0[j] + 3 = 0, 2, 0))");
}

TEST(Trilu, KeepsOneTriangle) {
  MovementWorld world;
  const ir::ValueId x = world.input({4, 4});
  EXPECT_EQ(world.notation(world.make("trilu", {x}, {{"diagonal", Poly(1)}})), "select(-i + j - 1 >= 0, x[i, j], 0)");
  EXPECT_EQ(world.notation(world.make("trilu", {x}, {{"upper", Poly(0)}})), "select(i - j >= 0, x[i, j], 0)");
  EXPECT_EQ(world.error("trilu", {world.input({4})}), "trilu: expected operand 'x' to have at least 2 dimensions, found float32[4]");
}

TEST(Resize, NearestByWholeFactorsOnlyDivides) {
  MovementWorld world;
  const ir::ValueId x = world.input({1, 3, world.dim("H"), 5});
  const ir::Attributes twice = {{"numerators", ir::Shape{1, 1, 2, 3}}, {"denominators", ir::Shape{1, 1, 1, 1}}};
  EXPECT_EQ(world.type(world.make("resize", {x}, twice)), "float32[1, 3, 2*H, 15]");
  EXPECT_EQ(world.notation(world.make("resize", {x}, twice)), "x[i, j, floor(k/2), floor(l/3)]");
  ir::Attributes half_pixel = twice;
  half_pixel.set("coordinates", std::string("half_pixel"));
  half_pixel.set("rounding", std::string("round_prefer_floor"));
  EXPECT_EQ(world.notation(world.make("resize", {x}, half_pixel)), "x[i, j, floor(k/2), floor(l/3)]");
}

TEST(Resize, LinearWeighsTwoNeighbours) {
  MovementWorld world;
  const ir::Attributes attributes = {{"numerators", ir::Shape{2}}, {"denominators", ir::Shape{1}}, {"mode", std::string("linear")}};
  const ir::ValueId x = world.input({world.dim("H")});
  EXPECT_EQ(world.notation(world.make("resize", {x}, attributes)),
            "(-i + 2*floor(i/2) + 2) / 2 * x[floor(i/2)] + (i - 2*floor(i/2)) / 2 * x[-max(-H + 2, -floor(i/2)) + 1]");
  EXPECT_EQ(world.error("resize", {world.input({4}, ir::DataType::int64)}, attributes),
            "resize: expected operand 'x' of mode linear to be of a floating type, found int64");
}

}  // namespace
}  // namespace xflow::ops
