// sub: a - b with broadcasting (ONNX Sub).
#include "src/ops/common.h"

namespace xflow::ops {

struct Sub {
  static Signature signature() { return pointwise_signature("sub", 2, TypeClass::numeric); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::adds,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return v[0] - v[1]; });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::subtract, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats | kWideIntegers>("Sub", 7, 12),
        plain_mapping<kFloats | kBfloat | kWideIntegers>("Sub", 13, 13),
        plain_mapping<kNumeric>("Sub", 14),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("sub", operation); }
};

XFLOW_OPERATOR_DEFINITION(Sub)

}  // namespace xflow::ops
