#include "bench/search/cases.h"

#include <algorithm>
#include <cmath>

#include "src/ir/constant.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::bench {
namespace {

using ir::ValueId;

// Builds graphs in an arena: weights are counted, so that no two are equal.
class Builder {
 public:
  explicit Builder(ir::Arena& arena) : arena_(arena) {}

  ValueId input(std::vector<std::int64_t> dims) { return arena_.input({ir::DataType::float32, true, shape(dims)}, inputs_++); }
  ValueId weight(const std::vector<std::int64_t>& dims) {
    std::size_t elements = 1;
    for (const std::int64_t d : dims) elements *= static_cast<std::size_t>(d);
    std::vector<double> values(elements);
    for (std::size_t k = 0; k < elements; ++k) values[k] = std::sin(static_cast<double>(k) + 100.0 * ++weights_) / 8;
    return arena_.constant(*ir::make_constant(ir::DataType::float32, dims, values));
  }
  ValueId number(double value) { return arena_.constant(*ir::make_constant(ir::DataType::float32, {}, std::vector{value})); }
  ValueId apply(std::string_view op, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    return {(*ops::apply(arena_, op, std::move(operands), std::move(attributes))).node, 0};
  }
  ValueId transpose(ValueId x) { return apply("transpose", {x}, {{"perm", ir::polys(std::vector<std::int64_t>{1, 0})}}); }
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : apply("concat", std::move(parts), {{"axis", ir::Poly(axis)}});
  }
  std::vector<ValueId> split(ValueId x, std::int64_t axis, const std::vector<std::int64_t>& sizes) {
    const ValueId first = apply("split", {x}, {{"axis", ir::Poly(axis)}, {"sizes", ir::polys(sizes)}});
    std::vector<ValueId> parts;
    for (std::uint32_t k = 0; k < sizes.size(); ++k) parts.push_back({first.node, k});
    return parts;
  }

 private:
  static ir::Shape shape(const std::vector<std::int64_t>& dims) {
    ir::Shape result;
    for (const std::int64_t d : dims) result.emplace_back(d);
    return result;
  }

  ir::Arena& arena_;
  std::uint32_t inputs_ = 0;
  int weights_ = 0;
};

// A chain of blocks of four products of 256 x 256 each: x (A B) + (C D) B is (x A + C D) B, a product less, but
// only after x (A B) = (x A) B, which saves nothing.
Case blocks(int count) {
  Case made;
  Builder b(*made.arena);
  ValueId x = b.input({256, 256});
  ValueId best = x;
  const auto product = [&](ValueId left, ValueId right) { return b.apply("matmul", {left, right}); };
  for (int k = 0; k < count; ++k) {
    const ValueId a = b.input({256, 256});
    const ValueId shared = b.input({256, 256});
    const ValueId cd = product(b.input({256, 256}), b.input({256, 256}));
    x = b.apply("relu", {b.apply("add", {product(x, product(a, shared)), product(cd, shared)})});
    best = b.apply("relu", {product(b.apply("add", {product(best, a), cd}), shared)});
  }
  made.graph.outputs = {x};
  made.best.outputs = {best};
  return made;
}

Case siblings(int count, bool activated) {
  constexpr std::int64_t kWidth = 512;
  Case made;
  Builder b(*made.arena);
  const ValueId x = b.input({1, kWidth});
  std::vector<ValueId> weights;
  for (int k = 0; k < count; ++k) {
    weights.push_back(b.weight({kWidth, kWidth}));
    const ValueId y = b.apply("matmul", {x, weights.back()});
    made.graph.outputs.push_back(activated ? b.apply("relu", {y}) : y);
  }
  ValueId all = b.apply("matmul", {x, b.concat(weights, 1)});
  if (activated) all = b.apply("relu", {all});
  made.best.outputs = b.split(all, 1, std::vector<std::int64_t>(static_cast<std::size_t>(count), kWidth));
  return made;
}
Case plain_siblings(int count) { return siblings(count, false); }
Case activated_siblings(int count) { return siblings(count, true); }

// down(silu(x W_gate) * (x W_up)).
Case gated_mlp(int width) {
  Case made;
  Builder b(*made.arena);
  const std::int64_t w = width;
  const ValueId x = b.input({64, w});
  const ValueId gate = b.weight({w, 4 * w});
  const ValueId up = b.weight({w, 4 * w});
  const ValueId down = b.weight({4 * w, w});
  const auto rest = [&](ValueId g, ValueId u) {
    return b.apply("matmul", {b.apply("mul", {b.apply("mul", {g, b.apply("sigmoid", {g})}), u}), down});
  };
  made.graph.outputs = {rest(b.apply("matmul", {x, gate}), b.apply("matmul", {x, up}))};
  const std::vector<ValueId> both = b.split(b.apply("matmul", {x, b.concat({gate, up}, 1)}), 1, {4 * w, 4 * w});
  made.best.outputs = {rest(both[0], both[1])};
  return made;
}

// x W + (x A) B s: the adapter folds into the weight.
Case lora(int rank) {
  Case made;
  Builder b(*made.arena);
  const ValueId x = b.input({64, 512});
  const ValueId w = b.weight({512, 512});
  const ValueId down = b.weight({512, rank});
  const ValueId up = b.weight({rank, 512});
  const ValueId scale = b.number(0.5);
  const ValueId adapter = b.apply("mul", {b.apply("matmul", {b.apply("matmul", {x, down}), up}), scale});
  made.graph.outputs = {b.apply("add", {b.apply("matmul", {x, w}), adapter})};
  const ValueId merged = b.apply("add", {w, b.apply("mul", {b.apply("matmul", {down, up}), scale})});
  made.best.outputs = {b.apply("matmul", {x, merged})};
  return made;
}

// softmax(q k^T s) v of one head, whose three products read one value.
Case attention(int width) {
  Case made;
  Builder b(*made.arena);
  const std::int64_t w = width;
  const ValueId x = b.input({64, w});
  const ValueId wq = b.weight({w, w});
  const ValueId wk = b.weight({w, w});
  const ValueId wv = b.weight({w, w});
  const ValueId scale = b.number(0.125);
  const auto rest = [&](ValueId q, ValueId k, ValueId v, bool scaled) {
    ValueId scores = b.apply("matmul", {q, b.transpose(k)});
    if (scaled) scores = b.apply("mul", {scores, scale});
    return b.apply("matmul", {b.apply("softmax", {scores}, {{"axis", ir::Poly(1)}}), v});
  };
  const auto by_x = [&](ValueId weight) { return b.apply("matmul", {x, weight}); };
  made.graph.outputs = {rest(by_x(wq), by_x(wk), by_x(wv), true)};
  const std::vector<ValueId> all = b.split(by_x(b.concat({b.apply("mul", {wq, scale}), wk, wv}, 1)), 1, {w, w, w});
  made.best.outputs = {rest(all[0], all[1], all[2], false)};
  return made;
}

class Roofline final : public cost::Device {
 public:
  explicit Roofline(bool copies_are_free) : copies_are_free_(copies_are_free) { info_.name = "roofline"; }
  const cost::DeviceInfo& info() const override { return info_; }
  bool chooses_layout(const ops::KernelSpec&) const override { return false; }
  bool works_in(const ops::KernelSpec&, cost::Layout layout) const override { return layout == cost::Layout::plain; }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation&) const override {
    return !copies_are_free_ && base.post.size() < 4 && (is_anchor(base) || is_pointwise(base));
  }
  Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
    return cost::KernelCost{Nanoseconds(time(spec)), Nanoseconds(0), 1, layout, layout};
  }

 private:
  static double elements(const ops::TensorSpec& tensor) {
    double n = 1;
    for (const std::int64_t d : tensor.dims) n *= static_cast<double>(d);
    return n;
  }
  double time(const ops::KernelSpec& spec) const {
    if (spec.is(ops::KernelFamily::none)) return 0;
    if (copies_are_free_ && (spec.is(ops::KernelFamily::copy) || spec.is(ops::KernelFamily::reorder))) return 1;
    double bytes = 0;
    for (const auto& tensor : spec.operands) bytes += 4 * elements(tensor);
    for (const auto& tensor : spec.results) bytes += 4 * elements(tensor);
    for (const auto& post : spec.post)
      for (const auto& tensor : post.operands) bytes += 4 * elements(tensor);
    double operations = 0;
    if (spec.is(ops::KernelFamily::product)) operations = 2 * elements(spec.results[0]) * static_cast<double>(spec.operands[0].dims.back());
    return 5000 + std::max(bytes / 800, operations / 14'000);
  }

  bool copies_are_free_;
  cost::DeviceInfo info_;
};

}  // namespace

const std::vector<NamedCase>& cases() {
  static const std::vector<NamedCase> all = {
      {"blocks", &blocks, {1, 2, 4, 8, 16, 32, 64}},
      {"siblings", &plain_siblings, {2, 4, 5, 8, 16, 32}},
      {"activated_siblings", &activated_siblings, {2, 3, 4, 8, 16, 32}},
      {"gated_mlp", &gated_mlp, {256}},
      {"lora", &lora, {16}},
      {"attention", &attention, {256}},
  };
  return all;
}

std::unique_ptr<cost::Device> roofline(bool copies_are_free) { return std::make_unique<Roofline>(copies_are_free); }

}  // namespace xflow::bench
