#include "bench/search/cases.h"

#include <array>

#include "bench/search/convolution_cases.h"
#include "bench/search/graph_builder.h"

namespace xflow::bench {
namespace {

using ir::ValueId;

// A chain of blocks of four products of 256 x 256 each: x (A B) + (C D) B is (x A + C D) B, a product less, but
// only after x (A B) = (x A) B, which saves nothing.
Case blocks(int count, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t w = 256 / divisor;
  ValueId x = b.input({w, w});
  ValueId best = x;
  for (int k = 0; k < count; ++k) {
    const ValueId a = b.input({w, w});
    const ValueId shared = b.input({w, w});
    const ValueId c = b.input({w, w});
    const ValueId cd = b.matmul(c, b.input({w, w}));
    x = b.relu(b.add(b.matmul(x, b.matmul(a, shared)), b.matmul(cd, shared)));
    best = b.relu(b.matmul(b.add(b.matmul(best, a), cd), shared));
  }
  made.graph.outputs = {x};
  made.equivalents.push_back({{best}});
  return made;
}

Case siblings(int count, int divisor, bool activated) {
  const std::int64_t width = 512 / divisor;
  Case made;
  GraphBuilder b(*made.arena);
  const ValueId x = b.input({1, width});
  std::vector<ValueId> weights;
  for (int k = 0; k < count; ++k) {
    weights.push_back(b.weight({width, width}));
    const ValueId y = b.matmul(x, weights.back());
    made.graph.outputs.push_back(activated ? b.relu(y) : y);
  }
  ValueId all = b.matmul(x, b.concat(weights, 1));
  if (activated) all = b.relu(all);
  made.equivalents.push_back({b.split(all, 1, std::vector<std::int64_t>(static_cast<std::size_t>(count), width))});
  return made;
}
Case plain_siblings(int count, int divisor) { return siblings(count, divisor, false); }
Case activated_siblings(int count, int divisor) { return siblings(count, divisor, true); }

// down(silu(x W_gate) * (x W_up)).
Case gated_mlp(int width, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t w = width / divisor;
  const ValueId x = b.input({64 / divisor, w});
  const ValueId gate = b.weight({w, 4 * w});
  const ValueId up = b.weight({w, 4 * w});
  const ValueId down = b.weight({4 * w, w});
  const auto rest = [&](ValueId g, ValueId u) { return b.matmul(b.mul(b.mul(g, b.sigmoid(g)), u), down); };
  made.graph.outputs = {rest(b.matmul(x, gate), b.matmul(x, up))};
  const std::vector<ValueId> both = b.split(b.matmul(x, b.concat({gate, up}, 1)), 1, {4 * w, 4 * w});
  made.equivalents.push_back({{rest(both[0], both[1])}});
  return made;
}

// x W + (x A) B s: the adapter folds into the weight.
Case lora(int rank, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t width = 512 / divisor;
  const ValueId x = b.input({64 / divisor, width});
  const ValueId w = b.weight({width, width});
  const ValueId down = b.weight({width, rank});
  const ValueId up = b.weight({rank, width});
  const ValueId scale = b.number(0.5);
  const ValueId adapter = b.mul(b.matmul(b.matmul(x, down), up), scale);
  made.graph.outputs = {b.add(b.matmul(x, w), adapter)};
  const ValueId merged = b.add(w, b.mul(b.matmul(down, up), scale));
  made.equivalents.push_back({{b.matmul(x, merged)}});
  return made;
}

// softmax(q k^T s) v of one head, whose three products read one value.
Case attention(int width, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t w = width / divisor;
  const ValueId x = b.input({64 / divisor, w});
  const ValueId wq = b.weight({w, w});
  const ValueId wk = b.weight({w, w});
  const ValueId wv = b.weight({w, w});
  const ValueId scale = b.number(0.125);
  const auto rest = [&](ValueId q, ValueId k, ValueId v, bool scaled) {
    ValueId scores = b.matmul(q, b.transpose(k));
    if (scaled) scores = b.mul(scores, scale);
    return b.matmul(b.apply("softmax", {scores}, {{"axis", ir::Poly(1)}}), v);
  };
  made.graph.outputs = {rest(b.matmul(x, wq), b.matmul(x, wk), b.matmul(x, wv), true)};
  const std::vector<ValueId> all = b.split(b.matmul(x, b.concat({b.mul(wq, scale), wk, wv}, 1)), 1, {w, w, w});
  made.equivalents.push_back({{rest(all[0], all[1], all[2], false)}});
  return made;
}

// What follows the 8 gates of a NasRNN cell (bench/models/nasrnn.cpp), each given before its activation.
ValueId nasrnn_output(GraphBuilder& b, const std::array<ValueId, 8>& gates) {
  const ValueId first = b.tanh(b.add(b.relu(gates[0]), b.sigmoid(gates[3])));
  const ValueId second = b.sigmoid(b.add(b.sigmoid(gates[1]), b.tanh(gates[2])));
  const ValueId third = b.tanh(b.mul(b.sigmoid(gates[4]), b.tanh(gates[5])));
  const ValueId fourth = b.tanh(b.mul(b.sigmoid(gates[6]), b.relu(gates[7])));
  return b.tanh(b.mul(b.tanh(b.add(second, third)), b.tanh(b.mul(first, fourth))));
}

// The same with one launch for equal functions of independent values: `sigmoids` are the gates 3, 1, 4 and 6, `tanhs` 2 and 5,
// `relus` 0 and 7.
ValueId merged_nasrnn_output(GraphBuilder& b, ValueId sigmoids, ValueId tanhs, ValueId relus, std::int64_t hidden) {
  const auto parts = [&](ValueId x, std::size_t count) { return b.split(x, 1, std::vector<std::int64_t>(count, hidden)); };
  const std::vector<ValueId> s = parts(b.sigmoid(sigmoids), 4);
  const std::vector<ValueId> t = parts(b.tanh(tanhs), 2);
  const std::vector<ValueId> r = parts(b.relu(relus), 2);
  const std::vector<ValueId> sums = parts(b.add(b.concat({r[0], s[1]}, 1), b.concat({s[0], t[0]}, 1)), 2);
  const ValueId products = b.mul(b.concat({s[2], s[3]}, 1), b.concat({t[1], r[1]}, 1));
  const std::vector<ValueId> u = parts(b.tanh(b.concat({sums[0], products}, 1)), 3);
  const std::vector<ValueId> last = parts(b.tanh(b.concat({b.add(b.sigmoid(sums[1]), u[1]), b.mul(u[0], u[2])}, 1)), 2);
  return b.tanh(b.mul(last[0], last[1]));
}

// A cell with 8 gates x W_k + h U_k.
Case nasrnn_cell(int width, int divisor) {
  Case made;
  GraphBuilder b(*made.arena);
  const std::int64_t hidden = width / divisor;
  const ValueId x = b.input({1, hidden});
  const ValueId h = b.input({1, hidden});
  std::array<ValueId, 8> of_x;
  std::array<ValueId, 8> of_h;
  std::array<ValueId, 8> gates;
  for (std::size_t k = 0; k < gates.size(); ++k) {
    of_x[k] = b.weight({hidden, hidden});
    of_h[k] = b.weight({hidden, hidden});
    gates[k] = b.add(b.matmul(x, of_x[k]), b.matmul(h, of_h[k]));
  }
  made.graph.outputs = {nasrnn_output(b, gates)};

  // All gates by one product, in the order of merged_nasrnn_output.
  constexpr std::array<std::size_t, 8> kOrder{3, 1, 4, 6, 2, 5, 0, 7};
  std::vector<ValueId> columns;
  for (const std::size_t k : kOrder) columns.push_back(b.concat({of_x[k], of_h[k]}, 0));
  const ValueId all = b.matmul(b.concat({x, h}, 1), b.concat(columns, 1));
  const std::vector<ValueId> kinds = b.split(all, 1, {4 * hidden, 2 * hidden, 2 * hidden});
  made.equivalents.push_back({{merged_nasrnn_output(b, kinds[0], kinds[1], kinds[2], hidden)}});
  const std::vector<ValueId> parts = b.split(all, 1, std::vector<std::int64_t>(8, hidden));
  std::array<ValueId, 8> sorted;
  for (std::size_t k = 0; k < sorted.size(); ++k) sorted[kOrder[k]] = parts[k];
  made.equivalents.push_back({{nasrnn_output(b, sorted)}});
  return made;
}

}  // namespace

const std::vector<NamedCase>& cases() {
  static const std::vector<NamedCase> all = {
      {"blocks", &blocks, {1, 2, 4, 8, 16, 32, 64}},
      {"siblings", &plain_siblings, {2, 4, 5, 8, 16, 32}},
      {"activated_siblings", &activated_siblings, {2, 3, 4, 8, 16, 32}},
      {"gated_mlp", &gated_mlp, {256}},
      {"lora", &lora, {16}},
      {"attention", &attention, {256}},
      {"nasrnn_cell", &nasrnn_cell, {256, 512}},
      {"inception_block", &inception_block, {192, 288}},
      {"fire_block", &fire_block, {55, 13}},
      {"resnext_block", &resnext_block, {64, 256}},
  };
  return all;
}

}  // namespace xflow::bench
