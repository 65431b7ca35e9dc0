// is_nan: whether x is NaN (ONNX IsNaN).
#include <cmath>

#include "src/ops/common.h"

namespace xflow::ops {

struct IsNan {
  static Signature signature() { return pointwise_signature("is_nan", 1, TypeClass::floating); }
  static Types type(Typing& typing, const Operation& operation) { return pointwise_type(typing, operation, ir::DataType::boolean); }
  static FloatEffect float_effect() {
    return FloatEffect::jumping([](std::span<const double> v, std::span<const double> /*a*/) -> double { return std::isnan(v[0]); });
  }
  static Expr semantics(Builder& builder, const Operation& operation, int /*output*/, std::span<const ir::Poly> index) {
    return pointwise(builder, Function::is_nan, operation, index);
  }
  static std::vector<OnnxMapping> onnx_mappings() {
    return {
        plain_mapping<kFloats>("IsNaN", 9, 12),
        plain_mapping<kFloats | kBfloat>("IsNaN", 13),
    };
  }
  static Result<KernelSpec> kernel(const Operation& operation) { return pointwise_kernel("is_nan", operation); }
};

XFLOW_OPERATOR_DEFINITION(IsNan)

}  // namespace xflow::ops
