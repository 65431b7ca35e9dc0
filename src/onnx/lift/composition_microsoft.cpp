// Operators of domain com.microsoft, as ONNX Runtime's documentation of contrib operators (version 1) defines them: its optimiser writes
// them into models.
#include <cmath>
#include <numbers>

#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::Real;
using ir::ValueId;

namespace {

// x/2 * (1 + erf(x / sqrt 2)).
ValueId gelu_of(CompositionMaker& make, ValueId x) {
  const ValueId inner = make.op("erf", {make.div(x, make.scalar(std::numbers::sqrt2, x))});
  return make.mul(make.mul(x, make.add(inner, make.scalar(1.0, x))), make.scalar(0.5, x));
}

}  // namespace

// Gelu(x) = x/2 * (1 + erf(x / sqrt 2)); BiasGelu(x, bias) = Gelu(x + bias).
CompositionValues lift_microsoft_gelu(const NodeView& node) {
  CompositionMaker make(node);
  return make.finish({gelu_of(make, node.has_input(1) ? make.add(node.operand(0), node.operand(1)) : node.operand(0))});
}

// FastGelu(x, bias) = z/2 * (1 + tanh(0.7978845608 * (z + 0.044715 z^3))) with z = x + bias.
CompositionValues lift_microsoft_fast_gelu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId z = node.has_input(1) ? make.add(node.operand(0), node.operand(1)) : node.operand(0);
  const ValueId cube = make.mul(make.mul(z, z), z);
  const ValueId sum = make.add(z, make.mul(cube, make.scalar(0.044715, z)));
  const ValueId inner = make.op("tanh", {make.mul(sum, make.scalar(std::sqrt(2.0 / std::numbers::pi), z))});
  return make.finish({make.mul(make.mul(z, make.add(inner, make.scalar(1.0, z))), make.scalar(0.5, z))});
}

// QuickGelu(x) = x * sigmoid(alpha * x).
CompositionValues lift_microsoft_quick_gelu(const NodeView& node) {
  CompositionMaker make(node);
  const ValueId x = node.operand(0);
  const double alpha = node.real("alpha", Real::from_double(1.702F)).to_double();
  return make.finish({make.mul(x, make.op("sigmoid", {make.mul(x, make.scalar(alpha, x))}))});
}

// FusedMatMul(A, B) = alpha * A' B', where A' or B' has its last two dimensions exchanged.
CompositionValues lift_microsoft_fused_matmul(const NodeView& node) {
  if (node.integer("transBatchA", 0) != 0 || node.integer("transBatchB", 0) != 0)
    return fail(ErrorCode::unsupported, "FusedMatMul: a transposed batch");
  CompositionMaker make(node);
  const auto transposed = [&](std::size_t k, std::string_view attribute) -> Result<ValueId> {
    if (node.integer(attribute, 0) == 0) return node.operand(k);
    XFLOW_TRY(const std::size_t rank, rank_of(node, k));
    if (rank < 2) return fail(ErrorCode::unsupported, "FusedMatMul: the transpose of a vector");
    std::vector<Poly> perm;
    perm.reserve(rank);
    for (std::size_t i = 0; i < rank; ++i) perm.emplace_back(static_cast<std::int64_t>(i));
    std::swap(perm[rank - 2], perm[rank - 1]);
    return make.op("transpose", {node.operand(k)}, {{"perm", std::move(perm)}});
  };
  XFLOW_TRY(const ValueId a, transposed(0, "transA"));
  XFLOW_TRY(const ValueId b, transposed(1, "transB"));
  const ValueId y = make.op("matmul", {a, b});
  const Real alpha = node.real("alpha", Real(1));
  return make.finish({alpha == Real(1) ? y : make.mul(y, make.scalar(alpha.to_double(), node.operand(0)))});
}

}  // namespace xflow::onnx_io
