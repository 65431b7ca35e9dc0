// sqrt: the square root (ONNX Sqrt).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Sqrt {
  static Signature signature() { return pointwise_signature("sqrt", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
               FloatError::own, [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::sqrt(v[0]); },
               FloatDomain::nonnegative)
        .in(FloatRange::nonnegative);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::sqrt, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Sqrt", 6, 12),
        plain_mapping<kFloats | kBfloat>("Sqrt", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("sqrt", operation); }
};

XFLOW_OPERATOR_DEFINITION(Sqrt)

}  // namespace xflow::ops
