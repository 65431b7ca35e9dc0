// dropout: the identity, because inference drops nothing (ONNX Dropout whose mask is not used).
#include "src/ops/common.h"

namespace xflow::ops {
namespace {

// The ratio is an attribute up to opset 11. From opset 12 on, the ratio and the training mode are inputs.
// Inference ignores the ratio.
Result<Lifted> lift_dropout(const OnnxNode& node) {
  if (node.has_output(1)) return fail(ErrorCode::unsupported, "the mask of Dropout is used");
  if (node.has_input(2)) {
    const auto training = node.constant(2);
    if (!training) return fail(ErrorCode::unsupported, "the training mode of Dropout is not known before the run");
    XFLOW_TRY(const std::vector<std::int64_t> value, ir::integers(*training));
    if (value.size() != 1 || value[0] != 0) return fail(ErrorCode::unsupported, "Dropout in training mode is random");
  }
  Lifted lifted;
  lifted.operands = {0};
  return lifted;
}

}  // namespace

struct Dropout {
  static Signature signature() {
    Signature signature = pointwise_signature("dropout", 1, TypeClass::floating);
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
        OnnxMapping{"", "Dropout", 7, 12, &lift_dropout, &export_operands_of<kFloats>},
        OnnxMapping{"", "Dropout", 13, kNewest, &lift_dropout, &export_operands_of<kFloats | kBfloat>},
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return none_kernel(operation); }
};

XFLOW_OPERATOR_DEFINITION(Dropout)

}  // namespace xflow::ops
