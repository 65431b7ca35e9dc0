// neg: -x (ONNX Neg).
#include "src/ops/common.h"

namespace xflow::ops {

struct Neg {
  static Signature signature() { return pointwise_signature("neg", 1, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect(FloatWork::chooses, FloatDomain::all, FloatError::copies, ZeroSign::ieee,
                       [](std::span<const double> v, std::span<const double> /*a*/) -> double { return -v[0]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::negate, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kSignedIntegers>("Neg", 6, 12),
        plain_mapping<kFloats | kBfloat | kSignedIntegers>("Neg", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("neg", operation); }
};

XFLOW_OPERATOR_DEFINITION(Neg)

}  // namespace xflow::ops
