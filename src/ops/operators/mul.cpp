// mul: a b with broadcasting (ONNX Mul).
#include "src/ops/common.h"

namespace xflow::ops {

struct Mul {
  static Signature signature() {
    Signature signature = pointwise_signature("mul", 2, TypeClass::numeric);
    signature.commutative = true;
    return signature;
  }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::multiplies,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] * v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::multiply, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kWideIntegers>("Mul", 7, 12),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("Mul", 13, 13),
        plain_mapping<kNumeric>("Mul", 14),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("mul", operation); }
};

XFLOW_OPERATOR_DEFINITION(Mul)

}  // namespace xflow::ops
