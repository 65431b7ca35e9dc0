// Operators of domain com.microsoft, which ONNX Runtime's optimiser writes into models. Source: ONNX
// Runtime's documentation of contrib operators (version 1). Operators of one operand are rows of
// ops/fused_functions.def.
#include "src/onnx/lift/composition_maker.h"

namespace xflow::onnx_io {

using ir::Poly;
using ir::Real;
using ir::ValueId;

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
