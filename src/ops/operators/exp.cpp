// exp: e^x (ONNX Exp).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Exp {
  static Signature signature() { return pointwise_signature("exp", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
               FloatError::own, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::exp(v[0]); },
               FloatDomain::bounded_above)
        .in(FloatRange::nonnegative);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::exp, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Exp", 6, 12),
        plain_mapping<kFloats | kBfloat>("Exp", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("exp", operation); }
};

XFLOW_OPERATOR_DEFINITION(Exp)

}  // namespace xflow::ops
