// size: the number of elements of x, an int64 scalar.
#include "src/ops/data_movement.h"

namespace xflow::ops {

struct SizeOf {
  static Signature signature() { return {.name = "size", .operands = {{.name = "x"}}}; }

  static Types type(Typing& /*typing*/, const Operation& /*operation*/) { return one_type(ir::DataType::int64, {}); }

  static FloatEffect float_effect() { return FloatEffect(FloatWork::makes, FloatDomain::all, FloatError::copies, ZeroSign::ieee, nullptr); }

  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> /*index*/) {
    return builder.integer(ir::element_count(operation.operands[0].shape));
  }

  static std::vector<OnnxMapping> onnx_mappings() {
    return {{.domain = "", .type = "Size", .since = 1, .lift = lift_operands, .to_onnx = export_operands}};
  }

  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(SizeOf)

}  // namespace xflow::ops
