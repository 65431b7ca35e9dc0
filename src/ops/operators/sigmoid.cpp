// sigmoid: 1 / (1 + e^-x) (ONNX Sigmoid).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Sigmoid {
  static Signature signature() { return pointwise_signature("sigmoid", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(
               FloatError::bounded,
               [](std::span<const double> v, std::span<const double> /*a*/) -> double { return 1 / (1 + std::exp(-v[0])); })
        .in(FloatRange::unit)
        .increasing();
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    const Expr decay = builder.apply(Function::exp, builder.apply(Function::negate, x));
    return builder.apply(Function::reciprocal, builder.literal(1) + decay);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Sigmoid", 6, 12),
        plain_mapping<kFloats | kBfloat>("Sigmoid", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("sigmoid", operation); }
};

XFLOW_OPERATOR_DEFINITION(Sigmoid)

}  // namespace xflow::ops
