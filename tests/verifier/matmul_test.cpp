#include "tests/verifier/hand_made.h"

namespace xflow::verifier {
namespace {

using ir::Poly;
using ir::ValueId;

TEST(Matmul, IsAssociative) {
  HandMade r;
  const Poly b = r.dim("B"), m = r.dim("M"), k = r.dim("K"), l = r.dim("L"), n = r.dim("N");
  const ValueId x = r.variable("x", {b, m, k}), y = r.variable("y", {b, k, l}), z = r.variable("z", {b, l, n});
  r.source({r.matmul(r.matmul(x, y), z)});
  r.target({r.matmul(x, r.matmul(y, z))});
  expect_proved(r);
}

TEST(Matmul, IsNotCommutative) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {n, n}), y = r.variable("y", {n, n});
  r.source({r.matmul(x, y)});
  r.target({r.matmul(y, x)});
  expect_refuted(r);
}

TEST(Matmul, DistributesOverAddOnTheRight) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, n}), z = r.variable("z", {k, n});
  r.source({r.add(r.matmul(x, y), r.matmul(x, z))});
  r.target({r.matmul(x, r.add(y, z))});
  expect_proved(r);
}

TEST(Matmul, DoesNotDistributeWithTheWrongSign) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, n}), z = r.variable("z", {k, n});
  r.source({r.sub(r.matmul(x, y), r.matmul(x, z))});
  r.target({r.matmul(x, r.add(y, z))});
  expect_refuted(r);
}

TEST(Matmul, SiblingsMerge) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N"), p = r.dim("P");
  const ValueId x = r.variable("x", {m, k}), a = r.variable("a", {k, n}), b = r.variable("b", {k, p});
  r.source({r.matmul(x, a), r.matmul(x, b)});
  r.target(r.split(r.matmul(x, r.concat({a, b}, 1)), 1, {n, p}));
  expect_proved(r);
}

TEST(Matmul, SiblingsDoNotMergeInTheOtherOrder) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), a = r.variable("a", {k, n}), b = r.variable("b", {k, n});
  r.source({r.matmul(x, a), r.matmul(x, b)});
  r.target(r.split(r.matmul(x, r.concat({b, a}, 1)), 1, {n, n}));
  expect_refuted(r);
}

TEST(Matmul, SplitsItsInnerDimension) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), l = r.dim("L"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k + l}), y = r.variable("y", {k + l, n});
  r.source({r.matmul(x, y)});
  const auto xs = r.split(x, 1, {k, l});
  const auto ys = r.split(y, 0, {k, l});
  r.target({r.add(r.matmul(xs[0], ys[0]), r.matmul(xs[1], ys[1]))});
  expect_proved(r);
}

TEST(Matmul, RowOfBlocksTimesColumnOfBlocks) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), l = r.dim("L"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {m, l}), v = r.variable("v", {k, n}), w = r.variable("w", {l, n});
  r.source({r.matmul(r.concat({x, y}, 1), r.concat({v, w}, 0))});
  r.target({r.add(r.matmul(x, v), r.matmul(y, w))});
  expect_proved(r);
}

TEST(Matmul, TransposeOfAProductIsTheProductOfTransposesReversed) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, n});
  r.source({r.transpose(r.matmul(x, y), {1, 0})});
  r.target({r.matmul(r.transpose(y, {1, 0}), r.transpose(x, {1, 0}))});
  expect_proved(r);
}

TEST(Matmul, TransposeOfAProductKeepsItsOrderOnlyForCommutingFactors) {
  HandMade r;
  const Poly n = r.dim("N");
  const ValueId x = r.variable("x", {n, n}), y = r.variable("y", {n, n});
  r.source({r.transpose(r.matmul(x, y), {1, 0})});
  r.target({r.matmul(r.transpose(x, {1, 0}), r.transpose(y, {1, 0}))});
  expect_refuted(r);
}

TEST(Matmul, ScaleGoesIntoEitherFactor) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, n}), s = r.variable("s", {});
  r.source({r.mul(r.matmul(x, y), s), r.matmul(r.mul(x, s), y)});
  r.target({r.matmul(x, r.mul(y, s)), r.mul(s, r.matmul(x, y))});
  expect_proved(r);
}

TEST(Matmul, ScaleOfColumnsGoesIntoTheRightFactor) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, n}), s = r.variable("s", {n});
  r.source({r.mul(r.matmul(x, y), s)});
  r.target({r.matmul(x, r.mul(y, s))});
  expect_proved(r);
}

TEST(Matmul, ScaleOfTheInnerDimensionDoesNotCommuteOut) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K");
  const ValueId x = r.variable("x", {m, k}), y = r.variable("y", {k, k}), s = r.variable("s", {k});
  r.source({r.mul(r.matmul(x, y), s)});
  r.target({r.matmul(r.mul(x, s), y)});
  expect_refuted(r);
}

TEST(Matmul, LowRankUpdateIsASum) {
  HandMade r;
  const Poly b = r.dim("B"), m = r.dim("M"), k = r.dim("K"), n = r.dim("N"), q = r.dim("Q");
  const ValueId x = r.variable("x", {b, m, k}), w = r.variable("w", {k, n}), u = r.variable("u", {k, q}), v = r.variable("v", {q, n});
  r.source({r.add(r.matmul(x, w), r.matmul(r.matmul(x, u), v))});
  r.target({r.matmul(x, r.add(w, r.matmul(u, v)))});
  expect_proved(r);
}

TEST(Matmul, BatchFlattensIntoRows) {
  HandMade r;
  const Poly b = r.dim("B"), m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId x = r.variable("x", {b, m, k}), w = r.variable("w", {k, n});
  r.source({r.matmul(x, w)});
  r.target({r.reshape(r.matmul(r.reshape(x, {b * m, k}), w), {b, m, n})});
  expect_proved(r);
}

TEST(Matmul, FourTermsFactor) {
  HandMade r;
  const Poly m = r.dim("M"), k = r.dim("K"), n = r.dim("N");
  const ValueId a = r.variable("a", {m, k}), b = r.variable("b", {m, k}), c = r.variable("c", {k, n}), d = r.variable("d", {k, n});
  r.source({r.add(r.add(r.matmul(a, c), r.matmul(a, d)), r.add(r.matmul(b, c), r.matmul(b, d)))});
  r.target({r.matmul(r.add(a, b), r.add(c, d))});
  expect_proved(r);
}

TEST(Matmul, HeadsSplitBeforeOrAfterTheProduct) {
  HandMade r;
  const Poly s = r.dim("S"), e = r.dim("E"), h = r.dim("H"), d = r.dim("D");
  const ValueId x = r.variable("x", {s, e}), w = r.variable("w", {e, h * d});
  // [S, H*D] -> [S, H, D] -> [H, S, D]
  r.source({r.transpose(r.reshape(r.matmul(x, w), {s, h, d}), {1, 0, 2})});
  r.target({r.matmul(x, r.transpose(r.reshape(w, {e, h, d}), {1, 0, 2}))});
  expect_proved(r);
}

TEST(Matmul, HeadsMergeWithAnOutputProjection) {
  HandMade r;
  const Poly s = r.dim("S"), h = r.dim("H"), d = r.dim("D"), n = r.dim("N");
  const ValueId x = r.variable("x", {h, s, d}), w = r.variable("w", {h * d, n});
  r.source({r.matmul(r.reshape(r.transpose(x, {1, 0, 2}), {s, h * d}), w)});
  r.target({r.op("reduce_sum", {r.matmul(x, r.reshape(w, {h, d, n}))},
                 {{"axes", ir::polys(std::vector<std::int64_t>{0})}, {"keep_dims", Poly(0)}})});
  expect_proved(r);
}

TEST(Matmul, IsNotEqualAfterAnotherHeadOrder) {
  HandMade r;
  const Poly s = r.dim("S"), e = r.dim("E"), h = r.dim("H"), d = r.dim("D");
  const ValueId x = r.variable("x", {s, e}), w = r.variable("w", {e, h * d});
  r.source({r.transpose(r.reshape(r.matmul(x, w), {s, h, d}), {1, 0, 2})});
  r.target({r.transpose(r.matmul(x, r.transpose(r.reshape(w, {e, d, h}), {2, 0, 1})), {0, 1, 2})});
  expect_refuted(r);
}

}  // namespace
}  // namespace xflow::verifier
