// ceil: the smallest integer that is at least x (ONNX Ceil).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct Ceil {
  static Signature signature() { return pointwise_signature("ceil", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::ceil(v[0]); });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::ceil, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("Ceil", 6, 12),
        plain_mapping<kFloats | kBfloat>("Ceil", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("ceil", operation); }
};

XFLOW_OPERATOR_DEFINITION(Ceil)

}  // namespace xflow::ops
