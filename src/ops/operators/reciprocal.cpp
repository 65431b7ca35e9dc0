// reciprocal: 1 / x (ONNX Reciprocal).
#include "src/ops/common.h"

namespace xflow::ops {

struct Reciprocal {
  static Signature signature() { return pointwise_signature("reciprocal", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
        FloatError::inverts, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return 1 / v[0]; },
        FloatDomain::nonzero_divisor);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::reciprocal, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Reciprocal", 6, 12),
        plain_mapping<kFloats | kBfloat>("Reciprocal", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("reciprocal", operation); }
};

XFLOW_OPERATOR_DEFINITION(Reciprocal)

}  // namespace xflow::ops
