#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::Real;
using ir::ValueId;

// Conv(x, w, b) = conv(x, w) + b[C, 1, ..., 1]; ConvTranspose likewise.
CompositionValues lift_convolution_with_bias(const NodeView& node) {
  if (!node.has_input(2)) return lift_mapped(node);
  XFLOW_TRY(const std::size_t rank, rank_of(node, 0));
  XFLOW_CHECK(require_vector(node, 2));
  const NodeView without_bias(node.document(), node.node(), node.opset(), node.arena(), {node.operand(0), node.operand(1)});
  XFLOW_TRY(const std::vector<ValueId> y, lift_mapped(without_bias));
  CompositionMaker make(node);
  return make.finish({make.add(y[0], make.per_channel(node.operand(2), rank))});
}

// Gemm(A, B, C) = alpha * A' B' + beta * C with A' = A or A^T.
CompositionValues lift_gemm(const NodeView& node) {
  CompositionMaker make(node);
  XFLOW_TRY(const std::size_t rank_a, rank_of(node, 0));
  XFLOW_TRY(const std::size_t rank_b, rank_of(node, 1));
  if (rank_a != 2 || rank_b != 2) return fail(ErrorCode::unsupported, "Gemm: operands are not matrices");
  const auto transposed = [&](ValueId v, std::string_view attribute) {
    return node.integer(attribute, 0) != 0 ? make.op("transpose", {v}, {{"perm", std::vector<Poly>{1, 0}}}) : v;
  };
  ValueId y = make.op("matmul", {transposed(node.operand(0), "transA"), transposed(node.operand(1), "transB")});
  const auto scaled = [&](ValueId v, std::string_view attribute) {
    const Real factor = node.real(attribute, Real(1));
    return factor == Real(1) ? v : make.mul(v, make.scalar(factor.to_double(), node.operand(0)));
  };
  y = scaled(y, "alpha");
  if (node.has_input(2)) y = make.add(y, scaled(node.operand(2), "beta"));
  return make.finish({y});
}

// Sum, Max and Min of any number of operands, from left to right. Mean divides the sum by their number.
CompositionValues lift_fold_left(const NodeView& node) {
  const std::string_view op = node.type() == "Max" ? "maximum" : node.type() == "Min" ? "minimum" : "add";
  if (node.input_count() == 0) return fail(ErrorCode::unsupported, std::string(node.type()) + ": no operands");
  CompositionMaker make(node);
  ValueId y = node.operand(0);
  if (node.input_count() == 1) return make.finish({make.op("identity", {y})});
  for (std::size_t k = 1; k < node.input_count(); ++k) y = make.op(op, {y, node.operand(k)});
  if (node.type() == "Mean") y = make.div(y, make.scalar(static_cast<double>(node.input_count()), node.operand(0)));
  return make.finish({y});
}

// Constant = the tensor of its attribute.
CompositionValues lift_constant(const NodeView& node) {
  const auto from = [&](Result<ir::Constant> constant) -> CompositionValues {
    if (!constant) return fail(ErrorCode::unsupported, constant.error().text());
    return std::vector<ValueId>{node.arena().constant(*std::move(constant))};
  };
  if (auto tensor = node.tensor("value")) return from(*std::move(tensor));
  if (node.has_attribute("value_int")) {
    const std::int64_t v = node.integer("value_int", 0);
    return from(ir::make_integer_constant(ir::DataType::int64, {}, std::span<const std::int64_t>(&v, 1)));
  }
  if (const auto list = node.integer_list("value_ints"))
    return from(ir::make_integer_constant(ir::DataType::int64, {static_cast<std::int64_t>(list->size())}, *list));
  if (node.has_attribute("value_float")) {
    const double v = node.real("value_float", Real(0)).to_double();
    return from(ir::make_constant(ir::DataType::float32, {}, std::span<const double>(&v, 1)));
  }
  if (const Attribute* attribute = node.node().find("value_floats")) {
    const auto list = attribute->reals();
    if (!list) return fail(ErrorCode::unsupported, list.error().text());
    const std::vector<double> wide(list->begin(), list->end());
    return from(ir::make_constant(ir::DataType::float32, {static_cast<std::int64_t>(wide.size())}, wide));
  }
  return fail(ErrorCode::unsupported, "Constant: neither a tensor nor numbers");
}

}  // namespace xflow::onnx_io
