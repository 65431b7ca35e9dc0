#include "bench/search/transformer.h"

#include "bench/search/graph_builder.h"

namespace xflow::bench {
namespace {

using ir::ValueId;

constexpr std::int64_t kTokens = 16;
constexpr std::int64_t kHidden = 32;
constexpr std::int64_t kHeads = 4;

// Both operations: a product and a bias.
ValueId linear(GraphBuilder& b, ValueId x, std::int64_t inputs, std::int64_t outputs) {
  const ValueId weight = b.weight({inputs, outputs});
  return b.add(b.matmul(x, weight), b.weight({outputs}));
}

// 9 operations.
ValueId layer_norm(GraphBuilder& b, ValueId x) {
  const auto mean = [&](ValueId y) {
    return b.apply("reduce_mean", {y}, {{"axes", ir::polys(GraphBuilder::Dims{2})}, {"keep_dims", ir::Poly(1)}});
  };
  const ValueId centered = b.apply("sub", {x, mean(x)});
  const ValueId variance = mean(b.mul(centered, centered));
  const ValueId deviation = b.apply("sqrt", {b.add(variance, b.number(1e-5))});
  const ValueId weight = b.weight({kHidden});
  return b.add(b.mul(b.apply("div", {centered, deviation}), weight), b.weight({kHidden}));
}

// 5 operations: x (erf(x / sqrt(2)) + 1) / 2.
ValueId gelu(GraphBuilder& b, ValueId x) {
  const ValueId shifted = b.add(b.apply("erf", {b.apply("div", {x, b.number(1.41421354)})}), b.number(1));
  return b.mul(b.mul(x, shifted), b.number(0.5));
}

// 22 operations.
ValueId attention(GraphBuilder& b, ValueId x, ValueId mask) {
  const auto heads = [&] {
    const ValueId y = b.reshape(linear(b, x, kHidden, kHidden), {1, kTokens, kHeads, kHidden / kHeads});
    return b.transpose(y, {0, 2, 1, 3});
  };
  const ValueId query = heads();
  const ValueId key = b.transpose(heads(), {0, 1, 3, 2});
  const ValueId value = heads();
  const ValueId scores = b.apply("div", {b.matmul(query, key), b.number(2.82842712)});
  const ValueId weights = b.apply("softmax", {b.add(scores, mask)}, {{"axis", ir::Poly(3)}});
  const ValueId merged = b.reshape(b.transpose(b.matmul(weights, value), {0, 2, 1, 3}), {1, kTokens, kHidden});
  return linear(b, merged, kHidden, kHidden);
}

}  // namespace

ir::Graph transformer(ir::Arena& arena, int layers) {
  GraphBuilder b(arena);
  ValueId x = b.input({1, kTokens, kHidden});
  const ValueId mask = b.input({1, 1, kTokens, kTokens});
  for (int layer = 0; layer < layers; ++layer) {
    x = b.add(x, attention(b, layer_norm(b, x), mask));
    x = b.add(x, linear(b, gelu(b, linear(b, layer_norm(b, x), kHidden, 4 * kHidden)), 4 * kHidden, kHidden));
  }
  return {{x}};
}

}  // namespace xflow::bench
