// erf: the error function (ONNX Erf, on floating types only).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Erf {
  static Signature signature() { return pointwise_signature("erf", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::computing(FloatError::bounded,
                                  [](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::erf(v[0]); })
        .in(FloatRange::symmetric);
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::erf, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Erf", 9, 12),
        plain_mapping<kFloats | kBfloat>("Erf", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("erf", operation); }
};

XFLOW_OPERATOR_DEFINITION(Erf)

}  // namespace xflow::ops
