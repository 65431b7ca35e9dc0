// identity: x (ONNX Identity of a tensor).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

Result<Exported> export_identity_before_13(const Operation& operation, int opset) {
  if (operation.operands[0].data_type == ir::DataType::bfloat16) {
    return fail(ErrorCode::unsupported, "cannot be exported for bfloat16 in this opset");
  }
  return export_operands(operation, opset);
}

}  // namespace

struct Identity {
  static Signature signature() {
    Signature signature = pointwise_signature("identity", 1, TypeClass::any);
    signature.moves_data = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() { return FloatEffect::moving(); }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return read_broadcast(builder, operation, 0, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        OnnxMapping{"", "Identity", 1, 12, &lift_operands, &export_identity_before_13},
        OnnxMapping{"", "Identity", 13, kNewest, &lift_operands, &export_operands},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Identity)

}  // namespace xflow::ops
