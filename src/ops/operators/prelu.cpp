// prelu: slope x for x < 0, x otherwise (ONNX PRelu). The slope broadcasts to x.
#include "src/ops/common.h"

namespace xflow::ops {

struct Prelu {
  static Signature signature() {
    Signature signature = pointwise_signature("prelu", 2, TypeClass::numeric);
    signature.operands[0].name = "x";
    signature.operands[1].name = "slope";
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) {
    XFLOW_TRY(std::vector<ir::TensorType> types, pointwise_type(typing, operation));
    const ir::Shape& own = operation.operands[0].shape;
    if (types[0].rank() != own.size()) return fail(ErrorCode::ill_typed, "expected the slope to broadcast to x");
    for (std::size_t k = 0; k < own.size(); ++k) {
      XFLOW_CHECK(typing.require_equal(types[0].shape[k], own[k], "the slope to broadcast to x"));
    }
    return one_type(operation.operands[0].data_type, own);
  }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::continuous, [](std::span<const double> v, std::span<const double> /*a*/) -> double {
      return v[0] < 0 ? v[1] * v[0] : v[0];
    });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    const Expr scaled = read_broadcast(builder, operation, 1, index) * x;
    return builder.apply(Function::choose, builder.apply(Function::less, x, builder.literal(0)), scaled, x);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("PRelu", 7, 8),
        plain_mapping<kFloats | kWideIntegers>("PRelu", 9, 15),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("PRelu", 16),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("prelu", operation); }
};

XFLOW_OPERATOR_DEFINITION(Prelu)

}  // namespace xflow::ops
