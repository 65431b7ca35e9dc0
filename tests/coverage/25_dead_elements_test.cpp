#include "tests/coverage/coverage.h"

namespace xflow::coverage {
namespace {

// Elements of which nobody reads the results are not computed.
class DeadElements : public Coverage {
 protected:
  const Poly n = dim("N", 2);
  const Poly s = dim("S", 5);
  const ValueId x = input("x", {n, s, 8});
  ValueId index(std::int64_t value) {
    return arena.constant(*ir::make_constant(ir::DataType::int64, {}, std::vector<double>{static_cast<double>(value)}));
  }
  // The first element of the second axis, as a classifier reads the first token.
  ValueId first(ValueId v) { return op("gather", {v, index(0)}, {{"axis", Poly(1)}}); }
  ValueId softmax(ValueId scores) { return op("softmax", {scores}, {{"axis", Poly(2)}}); }
  ValueId mean(ValueId v) { return op("reduce_mean", {v}, {{"axes", std::vector<Poly>{2}}, {"keep_dims", Poly(1)}}); }
  ValueId normalised(ValueId v) {
    const ValueId centred = op("sub", {v, mean(v)});
    const ValueId deviation = op("sqrt", {add(mean(mul(centred, centred)), number(1e-5))});
    return add(mul(op("div", {centred, deviation}), weight({8})), weight({8}));
  }
};

TEST_F(DeadElements, OfAFeedForwardBlock) {
  const ValueId hidden = relu(add(matmul(x, weight({8, 32})), weight({32})));
  const ValueId y = first(add(x, add(matmul(hidden, weight({32, 8})), weight({8}))));
  EXPECT_EQ(search({y}).form,
            "v1 = slice(x); v2 = matmul(v1, [8, 32]); v3 = add(v2, [32]); v4 = relu(v3); v5 = matmul(v4, [32, 8]); v6 = add(v5, [8]); v7 = "
            "add(v1, v6); v8 = reshape(v7); v8");
  EXPECT_EQ(search({y}, {.without = {"gather-of-first"}}).form,
            "v1 = matmul(x, [8, 32]); v2 = add(v1, [32]); v3 = relu(v2); v4 = matmul(v3, [32, 8]); v5 = add(v4, [8]); v6 = add(x, v5); v7 "
            "= gather(v6, []); v7");
}

TEST_F(DeadElements, OfANormalisation) {
  EXPECT_EQ(search({first(normalised(x))}).form,
            "v1 = slice(x); v2 = reduce_mean(v1); v3 = sub(v1, v2); v4 = mul(v3, v3); v5 = reduce_mean(v4); v6 = add(v5, []); v7 = "
            "sqrt(v6); v8 = div(v3, v7); v9 = mul(v8, [8]); v10 = add(v9, [8]); v11 = reshape(v10); v11");
}

TEST_F(DeadElements, OfAttention) {
  const ValueId keys = matmul(x, weight({8, 8}));
  const ValueId scores = matmul(matmul(x, weight({8, 8})), transpose(keys, {0, 2, 1}));
  const ValueId y = first(matmul(softmax(scores), matmul(x, weight({8, 8}))));
  EXPECT_EQ(search({y}).form,
            "v1 = slice(x); v2 = matmul(v1, [8, 8]); v3 = matmul(x, [8, 8]); v4 = transpose(v3); v5 = matmul(v2, v4); v6 = softmax(v5); v7 "
            "= matmul(x, [8, 8]); v8 = matmul(v6, v7); v9 = reshape(v8); v9");
}

TEST_F(DeadElements, OfHeads) {
  const ValueId heads = transpose(reshape(x, {n, s, 2, 4}), {0, 2, 1, 3});
  const ValueId y = first(reshape(transpose(relu(heads), {0, 2, 1, 3}), {n, s, 8}));
  EXPECT_EQ(search({y}).form, "v1 = slice(x); v2 = relu(v1); v3 = reshape(v2); v3");
}

TEST_F(DeadElements, AreComputedWhereTheyAreRead) {
  const ValueId hidden = op("exp", {matmul(x, weight({8, 32}))});
  EXPECT_EQ(search({first(hidden), hidden}).form, "v1 = matmul(x, [8, 32]); v2 = exp(v1); v3 = slice(v2); v4 = reshape(v3); v4, v2");
}

TEST_F(DeadElements, OfWindows) {
  const ValueId image = input("image", {n, 4, 9, 6});
  const ValueId convolved = conv(image, weight({8, 4, 3, 3}), 1);
  EXPECT_EQ(search({slice(convolved, {0, 0, 0, 0}, {n, 8, 2, 6})}).form, "v1 = slice(image); v2 = conv(v1, [8, 4, 3, 3]); v2");
  EXPECT_EQ(search({slice(convolved, {0, 5, 0, 0}, {n, 3, 9, 6})}).form, "v1 = conv(image, [3, 4, 3, 3]); v1");
  EXPECT_EQ(search({slice(max_pool(image, 3, 1), {0, 1, 0, 0}, {n, 2, 7, 4})}).form, "v1 = slice(image); v2 = max_pool(v1); v2");
}

TEST_F(DeadElements, OfAStride) {
  const ValueId image = input("image", {n, 4, 9, 6});
  const ValueId strided = conv(op("exp", {image}), weight({2, 4, 1, 1}), 0, 1, 2);
  EXPECT_EQ(search({strided}).form, "v1 = slice(image); v2 = exp(v1); v3 = conv(v2, [2, 4, 1, 1]); v3");
}

TEST_F(DeadElements, OfAHead) {
  const ValueId heads = reshape(matmul(x, weight({8, 32})), {n, s, 4, 8});
  EXPECT_EQ(search({slice(heads, {0, 0, 2, 0}, {n, s, 1, 8})}).form, "v1 = matmul(x, [8, 8]); v2 = reshape(v1); v2");
}

TEST_F(DeadElements, OfThreeConcatenatedWeights) {
  const ValueId product = matmul(x, concat({weight({8, 8}), weight({8, 16}), weight({8, 4})}, 1));
  EXPECT_EQ(search({slice(product, {0, 0, 10}, {n, s, 12})}).form, "v1 = matmul(x, [8, 12]); v1");
}

TEST_F(DeadElements, OfOperandsOfAConcatenation) {
  const std::vector<ValueId> parts = {op("exp", {x}), op("sigmoid", {x}), op("tanh", {x}), relu(x)};
  const ValueId joined = concat(parts, 2);
  EXPECT_EQ(search({slice(joined, {0, 0, 17}, {n, s, 5})}).form, "v1 = slice(x); v2 = tanh(v1); v2");
  EXPECT_EQ(search({slice(joined, {0, 0, 9}, {n, s, 7})}).form, "v1 = slice(x); v2 = sigmoid(v1); v2");
  EXPECT_EQ(search({slice(joined, {0, 0, 0}, {n, s, 16})}).form, "v1 = exp(x); v2 = sigmoid(x); v3 = concat(v1, v2); v3");
}

TEST_F(DeadElements, OfPartsThatNobodyReads) {
  const ValueId product = matmul(x, weight({8, 24}));
  const std::vector<ValueId> two = split(product, 2, {16, 8});
  EXPECT_EQ(search({relu(two[0])}).form, "v1 = matmul(x, [8, 16]); v2 = relu(v1); v2");
  EXPECT_EQ(search({relu(two[1])}).form, "v1 = matmul(x, [8, 8]); v2 = relu(v1); v2");
  const std::vector<ValueId> three = split(matmul(x, weight({8, 240})), 2, {80, 80, 80});
  EXPECT_EQ(search({three[1], relu(three[2])}).form, "v1 = matmul(x, [8, 80]); v2 = matmul(x, [8, 80]); v3 = relu(v2); v1, v3");
  EXPECT_EQ(search({three[0], relu(three[1])}).form, "v1 = matmul(x, [8, 80]); v2 = matmul(x, [8, 80]); v3 = relu(v2); v1, v3");
  EXPECT_EQ(search({three[0], relu(three[2])}, {.max_growth = 1}).form,
            "v1 = matmul(x, [8, 80]); v2 = matmul(x, [8, 80]); v3 = relu(v2); v1, v3");
}

TEST_F(DeadElements, OfCopies) {
  const ValueId row = input("row", {n, 1, 8});
  EXPECT_EQ(search({slice(expand(row, {n, s, 8}), {0, 0, 0}, {n, 2, 8})}).form, "v1 = expand(row); v1");
}

}  // namespace
}  // namespace xflow::coverage
