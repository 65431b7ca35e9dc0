// Builds graphs of the IR in an arena.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ir/constant.h"
#include "src/ir/graph.h"
#include "src/ops/operator.h"

namespace xflow::bench {

// Weights are numbered, so that no two are equal. Sizes and operators have to be valid.
class GraphBuilder {
 public:
  using Dims = std::vector<std::int64_t>;

  explicit GraphBuilder(ir::Arena& arena) : arena_(arena) {}

  ir::ValueId input(const Dims& dims) { return arena_.input({ir::DataType::float32, true, ir::polys(dims)}, inputs_++); }
  ir::ValueId weight(const Dims& dims) {
    ++weights_;
    std::size_t elements = 1;
    for (const std::int64_t d : dims) elements *= static_cast<std::size_t>(d);
    std::vector<double> values(elements);
    for (std::size_t k = 0; k < elements; ++k) values[k] = std::sin(static_cast<double>(k) + 0.1 * weights_) / 8;
    return arena_.constant(*ir::make_constant(ir::DataType::float32, dims, values));
  }
  ir::ValueId number(double value) { return arena_.constant(*ir::make_constant(ir::DataType::float32, {}, std::vector{value})); }

  ir::ValueId apply(std::string_view op, std::vector<ir::ValueId> operands, ir::Attributes attributes = {}) {
    return {(*ops::apply(arena_, op, std::move(operands), std::move(attributes))).node, 0};
  }
  ir::ValueId matmul(ir::ValueId a, ir::ValueId b) { return apply("matmul", {a, b}); }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return apply("add", {a, b}); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return apply("mul", {a, b}); }
  ir::ValueId relu(ir::ValueId x) { return apply("relu", {x}); }
  ir::ValueId sigmoid(ir::ValueId x) { return apply("sigmoid", {x}); }
  ir::ValueId tanh(ir::ValueId x) { return apply("tanh", {x}); }

  // Stride 1; the padding keeps the size of the image. The window is that of the weight, which is square.
  ir::ValueId conv(ir::ValueId x, ir::ValueId w, std::int64_t groups = 1) {
    ir::Attributes attributes = window(arena_.type(w).shape[2].constant_term() / 2);
    attributes.set("groups", ir::Poly(groups));
    return apply("conv", {x, w}, std::move(attributes));
  }
  // Windows of 3x3 at each element, whose padding counts.
  ir::ValueId average_pool(ir::ValueId x) {
    ir::Attributes attributes = window(1);
    attributes.set("kernel", ir::polys(Dims{3, 3}));
    attributes.set("count_include_pad", ir::Poly(1));
    return apply("average_pool", {x}, std::move(attributes));
  }
  // Zeros around a kernel of 1x1 make it 3x3.
  ir::ValueId enlarged(ir::ValueId w) {
    return apply("pad", {w}, {{"begins", ir::polys(Dims{0, 0, 1, 1})}, {"ends", ir::polys(Dims{0, 0, 1, 1})}});
  }

  ir::ValueId transpose(ir::ValueId x, const Dims& perm = {1, 0}) { return apply("transpose", {x}, {{"perm", ir::polys(perm)}}); }
  ir::ValueId reshape(ir::ValueId x, const Dims& shape) { return apply("reshape", {x}, {{"shape", ir::polys(shape)}}); }
  ir::ValueId concat(std::vector<ir::ValueId> parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : apply("concat", std::move(parts), {{"axis", ir::Poly(axis)}});
  }
  std::vector<ir::ValueId> split(ir::ValueId x, std::int64_t axis, const Dims& sizes) {
    const ir::ValueId first = apply("split", {x}, {{"axis", ir::Poly(axis)}, {"sizes", ir::polys(sizes)}});
    std::vector<ir::ValueId> parts;
    for (std::uint32_t k = 0; k < sizes.size(); ++k) parts.push_back({first.node, k});
    return parts;
  }

 private:
  static ir::Attributes window(std::int64_t pad) {
    return {{"strides", ir::polys(Dims{1, 1})}, {"pads", ir::polys(Dims(4, pad))}, {"dilations", ir::polys(Dims{1, 1})}};
  }

  ir::Arena& arena_;
  std::uint32_t inputs_ = 0;
  int weights_ = 0;
};

}  // namespace xflow::bench
