// sin: the sine of an angle in radians (ONNX Sin).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Sin {
  static Signature signature() { return pointwise_signature("sin", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::bounded,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::sin(v[0]); })
        .in(FloatRange::symmetric);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::sin, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Sin", 7, 21),
        plain_mapping<kFloats | kBfloat>("Sin", 22),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("sin", operation); }
};

XFLOW_OPERATOR_DEFINITION(Sin)

}  // namespace xflow::ops
