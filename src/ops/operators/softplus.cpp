// softplus: log(e^x + 1) (ONNX Softplus).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Softplus {
  static Signature signature() { return pointwise_signature("softplus", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::continuous,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double {
                                    return v[0] > 0 ? v[0] + std::log1p(std::exp(-v[0])) : std::log1p(std::exp(v[0]));
                                  })
        .in(FloatRange::nonnegative);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    const Expr x = read_broadcast(builder, operation, 0, index);
    return builder.apply(Function::log, builder.apply(Function::exp, x) + builder.literal(1));
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Softplus", 1, 21),
        plain_mapping<kFloats | kBfloat>("Softplus", 22),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("softplus", operation); }
};

XFLOW_OPERATOR_DEFINITION(Softplus)

}  // namespace xflow::ops
