// tanh: the hyperbolic tangent (ONNX Tanh).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Tanh {
  static Signature signature() { return pointwise_signature("tanh", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::bounded,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::tanh(v[0]); })
        .in(FloatRange::symmetric)
        .increasing();
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::tanh, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Tanh", 6, 12),
        plain_mapping<kFloats | kBfloat>("Tanh", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("tanh", operation); }
};

XFLOW_OPERATOR_DEFINITION(Tanh)

}  // namespace xflow::ops
